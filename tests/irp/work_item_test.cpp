// Work items of a device.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/irp_stack.hpp>

#include <dispatch/testing/fault_sweep.hpp>

#include <cstddef>
#include <vector>

namespace {

using namespace irpverbs::testing;

struct work {
    KEVENT done;
    KEVENT may_end;
    DEVICE_OBJECT* device = nullptr;
    KIRQL level = DISPATCH_LEVEL;
    PIO_WORKITEM item = nullptr;
    int runs = 0;
    int wanted = 1;

    work() {
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        KeInitializeEvent(&may_end, NotificationEvent, TRUE);
    }
    void wait() { KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr); }
};

void note(DEVICE_OBJECT* device, void* context) {
    auto& self = *static_cast<work*>(context);
    ++self.runs;
    self.device = device;
    self.level = KeGetCurrentIrql();
    KeSetEvent(&self.done, IO_NO_INCREMENT, FALSE);
    KeWaitForSingleObject(&self.may_end, Executive, KernelMode, FALSE, nullptr);
}

// Queues itself again until it ran often enough, then frees itself.
void again_and_free(void* device, void* context, PIO_WORKITEM item) {
    auto& self = *static_cast<work*>(context);
    EXPECT_EQ(item, self.item);
    self.device = static_cast<DEVICE_OBJECT*>(device);
    if (++self.runs < self.wanted) {
        IoQueueWorkItemEx(item, again_and_free, CriticalWorkQueue, context);
        return;
    }
    IoFreeWorkItem(item);
    KeSetEvent(&self.done, IO_NO_INCREMENT, FALSE);
}

class WorkItem : public BothMachines {
protected:
    test_driver bottom{complete_at_once};
    work job;
};

TEST_P(WorkItem, QueuedAtDispatchLevel_RunsOnceAtPassiveLevel) {
    PIO_WORKITEM item = IoAllocateWorkItem(bottom.device);
    {
        const at_dispatch_level raised;
        IoQueueWorkItem(item, note, DelayedWorkQueue, &job);
    }
    job.wait();
    EXPECT_EQ(job.runs, 1);
    EXPECT_EQ(job.device, bottom.device);
    EXPECT_EQ(job.level, PASSIVE_LEVEL);
    IoFreeWorkItem(item);
}

TEST_P(WorkItem, RequeuedByItsRoutine_RunsAgainAndCanBeFreed) {
    job.wanted = 3;
    job.item = IoAllocateWorkItem(bottom.device);
    IoQueueWorkItemEx(job.item, again_and_free, DelayedWorkQueue, &job);
    job.wait();
    EXPECT_EQ(job.runs, 3);
}

// Tests that a device that is deleted while its item is queued lasts until the routine has
// returned.
TEST_P(WorkItem, DeviceDeletedBeforeRoutineReturns_StaysReferenced) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    PIO_WORKITEM item = IoAllocateWorkItem(device);
    KeClearEvent(&job.may_end);
    IoQueueWorkItem(item, note, DelayedWorkQueue, &job);
    job.wait();
    ObReferenceObject(device); // keeps the device for the check below
    IoDeleteDevice(device);
    EXPECT_EQ(device->Header.ReferenceCount, 2);
    IoFreeWorkItem(item); // it is no longer queued
    ObDereferenceObject(device);
    KeSetEvent(&job.may_end, IO_NO_INCREMENT, FALSE);
}

TEST_P(WorkItem, IoInitializeWorkItem_WorksInCallerMemory) {
    std::vector<std::byte> memory(IoSizeofWorkItem());
    auto* item = reinterpret_cast<PIO_WORKITEM>(memory.data());
    IoInitializeWorkItem(bottom.device, item);
    IoQueueWorkItem(item, note, DelayedWorkQueue, &job);
    job.wait();
    IoUninitializeWorkItem(item);
    EXPECT_EQ(job.runs, 1);
}

struct object_seen {
    KEVENT done;
    PVOID object = nullptr;
};

TEST_P(WorkItem, IoInitializeWorkItem_OfADriver_PassesTheDriver) {
    std::vector<std::byte> memory(IoSizeofWorkItem());
    auto* item = reinterpret_cast<PIO_WORKITEM>(memory.data());
    object_seen seen;
    KeInitializeEvent(&seen.done, NotificationEvent, FALSE);
    IoInitializeWorkItem(&bottom.driver, item);
    IoQueueWorkItemEx(
        item,
        [](PVOID object, PVOID context, PIO_WORKITEM) {
            static_cast<object_seen*>(context)->object = object;
            KeSetEvent(&static_cast<object_seen*>(context)->done, IO_NO_INCREMENT, FALSE);
        },
        DelayedWorkQueue, &seen);
    KeWaitForSingleObject(&seen.done, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(seen.object, &bottom.driver);
    IoUninitializeWorkItem(item);
}

TEST_P(WorkItem, IoInitializeWorkItem_OfWhatIsNoObject_IsABugCheck) {
    std::vector<std::byte> memory(IoSizeofWorkItem());
    auto* item = reinterpret_cast<PIO_WORKITEM>(memory.data());
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    EXPECT_EQ(irpverbs::testing::bug_check_of([&] { IoInitializeWorkItem(&event, item); }),
              ULONG{REFERENCE_BY_POINTER});
}

// Tests low memory: a sweep finds one place to fail, and that failure leaves no work item.
TEST_P(WorkItem, AllocationFails_ReturnsNull) {
    int refused = 0;
    const auto summary = irpverbs::dispatch::fault_sweep([&] {
        if (PIO_WORKITEM item = IoAllocateWorkItem(bottom.device))
            IoFreeWorkItem(item);
        else
            ++refused;
    });
    EXPECT_EQ(summary.stacks, 1u);
    EXPECT_EQ(refused, 1);
}

IRPVERBS_ON_BOTH_MACHINES(WorkItem);

// On the simulated machine no item runs before the test waits, so the item is still queued.
TEST(WorkItemMisuse, FreeOrRequeueWhileQueued_BugChecks) {
    irpverbs::dispatch::random_choices chance(1);
    irpverbs::dispatch::sim_machine sim(chance);
    const irpverbs::dispatch::machine::scope inside(sim);
    test_driver bottom(complete_at_once);
    work job;
    PIO_WORKITEM item = IoAllocateWorkItem(bottom.device);
    IoQueueWorkItem(item, note, DelayedWorkQueue, &job);
    EXPECT_EQ(bug_check_of([&] { IoFreeWorkItem(item); }), DRIVER_VERIFIER_DETECTED_VIOLATION);
    EXPECT_EQ(bug_check_of([&] { IoUninitializeWorkItem(item); }),
              DRIVER_VERIFIER_DETECTED_VIOLATION);
    EXPECT_EQ(bug_check_of([&] { IoQueueWorkItem(item, note, DelayedWorkQueue, &job); }),
              INVALID_WORK_QUEUE_ITEM);
    job.wait();
    EXPECT_EQ(job.runs, 1);
    IoFreeWorkItem(item);
}

} // namespace
