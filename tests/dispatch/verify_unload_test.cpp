// A driver that is unloaded leaves nothing active, no handle and no reference.
#include <dispatch/ke.h>
#include <dispatch/support/leftovers.hpp>
#include <dispatch/support/live_objects.hpp>
#include <dispatch/thread.h>

#include <support/findings.hpp>

#include <gtest/gtest.h>

#include <array>

namespace irpverbs::testing {
namespace {

using namespace dispatch::detail;

void unload(const void* variable, std::size_t size, const void* routine = nullptr) {
    const std::array image{std::span(static_cast<const char*>(variable), size),
                           std::span(static_cast<const char*>(routine), 1)};
    check_unloaded_image(image);
}

void wait_for(void* event) { KeWaitForSingleObject(event, Executive, KernelMode, FALSE, nullptr); }

/// A system thread in wait_for.
class waiting_thread {
public:
    waiting_thread() {
        KeInitializeEvent(&end_, NotificationEvent, FALSE);
        HANDLE handle = nullptr;
        EXPECT_EQ(PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, wait_for, &end_),
                  STATUS_SUCCESS);
        EXPECT_EQ(ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &thread_, nullptr),
                  STATUS_SUCCESS);
        ZwClose(handle);
    }
    ~waiting_thread() { ObDereferenceObject(thread_); }
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;

    void join() {
        KeSetEvent(&end_, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(thread_, Executive, KernelMode, FALSE, nullptr);
    }

private:
    KEVENT end_{};
    PVOID thread_ = nullptr;
};

TEST(ThreadOutlivesDriver, Broken_IsReported) {
    findings seen{check::pool};
    waiting_thread thread;
    unload(nullptr, 0, routine_address(wait_for));
    EXPECT_TRUE(only_reported(seen, "ThreadOutlivesDriver", violation, 0x4952000B));
    EXPECT_TRUE(seen.all()[0].has_stack("alive since"));
    thread.join();
}

TEST(ThreadOutlivesDriver, Kept_IsNotReported) {
    const findings seen{check::pool};
    waiting_thread thread;
    thread.join();
    unload(nullptr, 0, routine_address(wait_for));
    EXPECT_TRUE(nothing_reported(seen));
}

int interrupt; // stands for a KINTERRUPT, which the package above connects

TEST(InterruptOutlivesDriver, Broken_IsReported) {
    findings seen{check::pool};
    add_live_object(this_processor(), live_object_kind::interrupt, &interrupt,
                    routine_address(wait_for));
    unload(nullptr, 0, routine_address(wait_for));
    EXPECT_TRUE(only_reported(seen, "InterruptOutlivesDriver", violation, 0x4952000C));
}

TEST(InterruptOutlivesDriver, Kept_IsNotReported) {
    const findings seen{check::pool};
    for (const bool disconnects : {true, false}) {
        add_live_object(this_processor(), live_object_kind::interrupt, &interrupt,
                        routine_address(wait_for));
        if (disconnects) remove_live_object(live_object_kind::interrupt, &interrupt);
        unload(nullptr, 0, disconnects ? routine_address(wait_for) : nullptr);
    }
    remove_live_object(live_object_kind::interrupt, &interrupt); // of a driver that stays loaded
    EXPECT_TRUE(nothing_reported(seen));
}

std::array<char, 64> resource; // stands for an ERESOURCE, which Windows' headers have

TEST(ResourceFreed, Broken_IsReported) {
    findings seen{check::pool};
    add_live_object(this_processor(), live_object_kind::resource, &resource);
    check_freed_memory(&resource, sizeof resource);
    EXPECT_TRUE(only_reported(seen, "ResourceFreed", violation, 0x17));
}

TEST(ResourceFreed, Kept_IsNotReported) {
    const findings seen{check::pool};
    add_live_object(this_processor(), live_object_kind::resource, &resource);
    remove_live_object(live_object_kind::resource, &resource);
    check_freed_memory(&resource, sizeof resource);
    EXPECT_TRUE(nothing_reported(seen));
}

std::array<char, 64> device; // stands for a DEVICE_OBJECT, which the package above has

TEST(WmiRegistration, Broken_IsReported) {
    findings seen{check::pool};
    add_live_object(this_processor(), live_object_kind::wmi_registration, &device);
    check_freed_memory(&device, sizeof device);
    EXPECT_TRUE(only_reported(seen, "WmiRegistration", violation, 0x4952000F));
}

TEST(WmiRegistration, Kept_IsNotReported) {
    const findings seen{check::pool};
    add_live_object(this_processor(), live_object_kind::wmi_registration, &device);
    remove_live_object(live_object_kind::wmi_registration, &device);
    check_freed_memory(&device, sizeof device);
    EXPECT_TRUE(nothing_reported(seen));
}

KTIMER timer;
KDPC timer_dpc;
void no_dpc(KDPC*, void*, void*, void*) {}

void set_timer() {
    LARGE_INTEGER far;
    far.QuadPart = -36'000'000'000;
    KeInitializeTimer(&timer);
    KeInitializeDpc(&timer_dpc, no_dpc, nullptr);
    KeSetTimer(&timer, far, &timer_dpc);
}

TEST(UnloadedImage, TimerInAVariable_IsReported) {
    findings seen{check::pool};
    set_timer();
    unload(&timer, sizeof timer);
    EXPECT_TRUE(only_reported(seen, "TimerFreed", violation, 0x15));
    KeCancelTimer(&timer);
}

TEST(UnloadedImage, TimerWhoseRoutineIsCodeOfTheDriver_IsReported) {
    findings seen{check::pool};
    set_timer();
    unload(nullptr, 0, routine_address(no_dpc));
    EXPECT_TRUE(only_reported(seen, "TimerFreed", violation, 0x15));
    KeCancelTimer(&timer);
}

TEST(UnloadedImage, TimerThatIsCancelled_IsNotReported) {
    const findings seen{check::pool};
    set_timer();
    KeCancelTimer(&timer);
    unload(&timer, sizeof timer, routine_address(no_dpc));
    EXPECT_TRUE(nothing_reported(seen));
}

HANDLE make_event() {
    HANDLE event = nullptr;
    EXPECT_EQ(ZwCreateEvent(&event, 0, nullptr, NotificationEvent, FALSE), STATUS_SUCCESS);
    return event;
}

PVOID object_of_event(HANDLE event) {
    PVOID object = nullptr;
    EXPECT_EQ(ObReferenceObjectByHandle(event, 0, *ExEventObjectType, KernelMode, &object, nullptr),
              STATUS_SUCCESS);
    return object;
}

TEST(HandleLeak, Broken_IsReported) {
    findings seen{check::pool};
    const HANDLE event = make_event();
    check_leftovers();
    EXPECT_TRUE(only_reported(seen, "HandleLeak", violation, 0x4952000D));
    EXPECT_TRUE(seen.all()[0].has_stack("opened at"));
    ZwClose(event);
}

TEST(HandleLeak, Kept_IsNotReported) {
    const findings seen{check::pool};
    ZwClose(make_event());
    check_leftovers();
    EXPECT_TRUE(nothing_reported(seen));
}

TEST(ObjectLeak, Broken_IsReported) {
    findings seen{check::pool};
    const HANDLE event = make_event();
    PVOID object = object_of_event(event);
    ObReferenceObject(object);
    ObDereferenceObject(object);
    ZwClose(event);
    check_leftovers();
    EXPECT_TRUE(only_reported(seen, "ObjectLeak", violation, 0x4952000E));
    EXPECT_TRUE(seen.all()[0].has_stack("made at"));
    EXPECT_TRUE(seen.all()[0].has_stack("referenced last at"));
    ObDereferenceObject(object);
}

TEST(ObjectLeak, ThreadThatHasEnded_IsReportedWhileItIsReferenced) {
    findings seen{check::pool};
    {
        waiting_thread thread;
        thread.join();
        check_leftovers();
        EXPECT_TRUE(only_reported(seen, "ObjectLeak", violation, 0x4952000E));
    }
    check_leftovers();
    EXPECT_EQ(seen.all().size(), 1u);
}

TEST(ObjectLeak, Kept_IsNotReported) {
    const findings seen{check::pool};
    const HANDLE event = make_event();
    PVOID object = object_of_event(event);
    ZwClose(event);
    ObReferenceObject(object);
    ObDereferenceObject(object);
    ObDereferenceObject(object);
    check_leftovers();
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
} // namespace irpverbs::testing
