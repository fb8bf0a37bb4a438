// Events with handles, and waits by handle.
#include <support/both_machines.hpp>
#include <support/ke_shorthand.hpp>

namespace {

using namespace irpverbs::testing;

class EventHandles : public BothMachines {
protected:
    EventHandles() {
        EXPECT_EQ(ZwCreateEvent(&handle, 0, nullptr, NotificationEvent, FALSE), STATUS_SUCCESS);
    }
    ~EventHandles() override { ZwClose(handle); }

    static NTSTATUS try_wait_for(HANDLE which) {
        LARGE_INTEGER now{};
        return ZwWaitForSingleObject(which, FALSE, &now);
    }

    HANDLE handle = nullptr;
};

TEST_P(EventHandles, SetResetAndClear_ChangeTheEvent) {
    LONG before = 7;
    EXPECT_EQ(try_wait_for(handle), STATUS_TIMEOUT);
    EXPECT_EQ(ZwSetEvent(handle, &before), STATUS_SUCCESS);
    EXPECT_EQ(before, 0);
    EXPECT_EQ(try_wait_for(handle), STATUS_SUCCESS);
    EXPECT_EQ(ZwResetEvent(handle, &before), STATUS_SUCCESS);
    EXPECT_NE(before, 0);
    EXPECT_EQ(ZwSetEvent(handle, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(ZwClearEvent(handle), STATUS_SUCCESS);
    EXPECT_EQ(try_wait_for(handle), STATUS_TIMEOUT);
}

// A driver receives an event's handle from user mode and signals its object later.
TEST_P(EventHandles, ReferencedEvent_OutlivesItsHandle) {
    void* object = nullptr;
    ASSERT_EQ(ObReferenceObjectByHandle(handle, 0, *ExEventObjectType, UserMode, &object, nullptr),
              STATUS_SUCCESS);
    auto* event = static_cast<PKEVENT>(object);
    KeSetEvent(event, IO_NO_INCREMENT, FALSE);
    EXPECT_EQ(try_wait_for(handle), STATUS_SUCCESS);
    ZwClose(handle);
    EXPECT_NE(KeReadStateEvent(event), 0);
    ObReferenceObject(event);
    ObDereferenceObject(event);
    ObDereferenceObject(event);
    EXPECT_EQ(ZwCreateEvent(&handle, 0, nullptr, SynchronizationEvent, TRUE), STATUS_SUCCESS);
    EXPECT_EQ(try_wait_for(handle), STATUS_SUCCESS);
    EXPECT_EQ(try_wait_for(handle), STATUS_TIMEOUT);
}

TEST_P(EventHandles, HandleOfOtherType_IsRefused) {
    HANDLE thread = nullptr;
    ASSERT_EQ(PsCreateSystemThread(
                  &thread, 0, nullptr, nullptr, nullptr, [](void*) {}, nullptr),
              STATUS_SUCCESS);
    void* object = nullptr;
    EXPECT_EQ(
        ObReferenceObjectByHandle(thread, 0, *ExEventObjectType, KernelMode, &object, nullptr),
        STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_EQ(ObReferenceObjectByHandle(handle, 0, *PsThreadType, KernelMode, &object, nullptr),
              STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_EQ(ZwSetEvent(thread, nullptr), STATUS_OBJECT_TYPE_MISMATCH);
    EXPECT_EQ(ZwWaitForSingleObject(thread, FALSE, nullptr), STATUS_SUCCESS); // until its end
    ZwClose(thread);
    EXPECT_EQ(ZwSetEvent(thread, nullptr), STATUS_INVALID_HANDLE);
    EXPECT_EQ(try_wait_for(thread), STATUS_INVALID_HANDLE);
}

IRPVERBS_ON_BOTH_MACHINES(EventHandles);

} // namespace
