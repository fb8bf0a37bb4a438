// Device queues, and StartIo on top of them.
#include <support/both_machines.hpp>
#include <support/exhaustive_gtest.hpp>
#include <support/irp_stack.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

class DeviceQueue : public BothMachines {
protected:
    DeviceQueue() { KeInitializeDeviceQueue(&queue); }

    // Returns the index of the removed entry; -1: none.
    std::ptrdiff_t removed(KDEVICE_QUEUE_ENTRY* entry) const {
        return entry != nullptr ? entry - entries.data() : -1;
    }

    KDEVICE_QUEUE queue;
    std::array<KDEVICE_QUEUE_ENTRY, 5> entries{};
};

TEST_P(DeviceQueue, InsertWhileBusy_QueuesInOrder) {
    const at_dispatch_level raised;
    EXPECT_FALSE(queue.Busy);
    EXPECT_FALSE(KeInsertDeviceQueue(&queue, &entries[0]));
    EXPECT_FALSE(entries[0].Inserted);
    EXPECT_TRUE(queue.Busy);
    EXPECT_TRUE(KeInsertDeviceQueue(&queue, &entries[1]));
    EXPECT_TRUE(KeInsertDeviceQueue(&queue, &entries[2]));
    EXPECT_TRUE(entries[1].Inserted);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 1);
    EXPECT_FALSE(entries[1].Inserted);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 2);
    EXPECT_TRUE(queue.Busy);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), -1);
    EXPECT_FALSE(queue.Busy);
}

TEST_P(DeviceQueue, InsertByKey_SortsAndKeepsOrderOfEqualKeys) {
    const at_dispatch_level raised;
    KeInsertByKeyDeviceQueue(&queue, &entries[0], 9);
    EXPECT_TRUE(KeInsertByKeyDeviceQueue(&queue, &entries[1], 20));
    EXPECT_TRUE(KeInsertByKeyDeviceQueue(&queue, &entries[2], 10));
    EXPECT_TRUE(KeInsertByKeyDeviceQueue(&queue, &entries[3], 20));
    EXPECT_TRUE(KeInsertByKeyDeviceQueue(&queue, &entries[4], 30));
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 2);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 1);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 3);
    EXPECT_EQ(removed(KeRemoveDeviceQueue(&queue)), 4);
}

// Tests the elevator: the next key at or above, and the lowest when there is none.
TEST_P(DeviceQueue, RemoveByKey_WrapsAroundToLowestKey) {
    const at_dispatch_level raised;
    KeInsertByKeyDeviceQueue(&queue, &entries[0], 0);
    KeInsertByKeyDeviceQueue(&queue, &entries[1], 10);
    KeInsertByKeyDeviceQueue(&queue, &entries[2], 20);
    KeInsertByKeyDeviceQueue(&queue, &entries[3], 30);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueue(&queue, 20)), 2);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueue(&queue, 20)), 3);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueue(&queue, 20)), 1);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueue(&queue, 20)), -1);
    EXPECT_FALSE(queue.Busy);
}

TEST_P(DeviceQueue, RemoveByKeyIfBusyOnIdleQueue_ReturnsNull) {
    const at_dispatch_level raised;
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueueIfBusy(&queue, 0)), -1);
    KeInsertDeviceQueue(&queue, &entries[0]);
    KeInsertByKeyDeviceQueue(&queue, &entries[1], 5);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueueIfBusy(&queue, 3)), 1);
    EXPECT_EQ(removed(KeRemoveByKeyDeviceQueueIfBusy(&queue, 3)), -1);
    EXPECT_FALSE(queue.Busy);
}

TEST_P(DeviceQueue, RemoveQueuedEntry_SucceedsOnce) {
    {
        const at_dispatch_level raised;
        KeInsertDeviceQueue(&queue, &entries[0]);
        KeInsertDeviceQueue(&queue, &entries[1]);
    }
    // it is being served and does not wait
    EXPECT_FALSE(KeRemoveEntryDeviceQueue(&queue, &entries[0]));
    EXPECT_TRUE(KeRemoveEntryDeviceQueue(&queue, &entries[1]));
    EXPECT_FALSE(KeRemoveEntryDeviceQueue(&queue, &entries[1]));
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    EXPECT_TRUE(queue.Busy);
}

IRPVERBS_ON_BOTH_MACHINES(DeviceQueue);

NTSTATUS end(IRP* irp, NTSTATUS status) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

// A driver with StartIo as in WDM's documentation: StartIo makes the IRP uncancellable, and
// finish() completes the current one.
struct start_io_driver : test_driver {
    bool cancelable = true;
    bool finish_in_start = false;
    std::optional<ULONG> key;
    std::vector<IRP*> started;
    IRP* current = nullptr; // owned by StartIo
    int inside = 0;
    int deepest = 0;

    start_io_driver() : test_driver(dispatch, this) { driver.DriverStartIo = start; }

    static start_io_driver& of(DEVICE_OBJECT* device) {
        return context_of<start_io_driver>(device);
    }

    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        start_io_driver& self = of(device);
        IoMarkIrpPending(irp);
        IoStartPacket(device, irp, self.key ? &*self.key : nullptr,
                      self.cancelable ? cancel : nullptr);
        return STATUS_PENDING;
    }

    // Returns false when the IRP is cancelled; its cancel routine then completes it.
    static bool make_own(DEVICE_OBJECT* device, IRP* irp) {
        KIRQL level = DISPATCH_LEVEL;
        IoAcquireCancelSpinLock(&level);
        const bool own = device->CurrentIrp == irp && IoSetCancelRoutine(irp, nullptr) != nullptr;
        IoReleaseCancelSpinLock(level);
        return own;
    }

    static void start(DEVICE_OBJECT* device, IRP* irp) {
        start_io_driver& self = of(device);
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
        if (self.cancelable && !make_own(device, irp)) return;
        self.deepest = std::max(self.deepest, ++self.inside);
        self.started.push_back(irp);
        self.current = irp;
        if (self.finish_in_start) self.finish();
        --self.inside;
    }

    static void cancel(DEVICE_OBJECT* device, IRP* irp) {
        if (device->CurrentIrp == irp) {
            IoReleaseCancelSpinLock(irp->CancelIrql);
            const at_dispatch_level raised;
            IoStartNextPacket(device, TRUE);
        } else {
            KeRemoveEntryDeviceQueue(&device->DeviceQueue, &irp->Tail.Overlay.DeviceQueueEntry);
            IoReleaseCancelSpinLock(irp->CancelIrql);
        }
        end(irp, STATUS_CANCELLED);
    }

    // Returns false when no IRP was current.
    bool finish() {
        IRP* done = std::exchange(current, nullptr);
        if (done == nullptr) return false;
        const at_dispatch_level raised;
        if (key)
            IoStartNextPacketByKey(device, cancelable, *key);
        else
            IoStartNextPacket(device, cancelable);
        end(done, STATUS_SUCCESS);
        return true;
    }
};

// A few requests and their results.
template <std::size_t Count>
struct requests {
    std::array<outcome, Count> outcomes;
    std::array<IRP*, Count> irps{};

    explicit requests(DEVICE_OBJECT* device) {
        for (std::size_t i = 0; i < Count; ++i)
            irps.at(i) = recorded_request(device, outcomes.at(i));
    }
    ~requests() {
        for (IRP* irp : irps)
            IoFreeIrp(irp);
    }
    requests(const requests&) = delete;
    requests& operator=(const requests&) = delete;

    int completions() const {
        int all = 0;
        for (const outcome& each : outcomes)
            all += each.completions;
        return all;
    }
};

class StartIo : public BothMachines {
protected:
    start_io_driver driver;
    requests<3> sent{driver.device};

    void send_all() {
        for (IRP* irp : sent.irps)
            EXPECT_EQ(IoCallDriver(driver.device, irp), STATUS_PENDING);
    }
};

TEST_P(StartIo, SeveralPackets_AreStartedOneByOne) {
    send_all();
    EXPECT_EQ(driver.started.size(), 1u);
    EXPECT_EQ(driver.device->CurrentIrp, sent.irps[0]);
    for (int i = 1; i <= 3; ++i) {
        EXPECT_TRUE(driver.finish());
        EXPECT_EQ(sent.completions(), i);
    }
    EXPECT_EQ(driver.started, std::vector(sent.irps.begin(), sent.irps.end()));
    EXPECT_EQ(driver.device->CurrentIrp, nullptr);
    EXPECT_FALSE(driver.device->DeviceQueue.Busy);
    EXPECT_TRUE(sent.outcomes[0].pending_returned);
}

TEST_P(StartIo, IoStartNextPacketByKey_SelectsByKey) {
    driver.key = 5;
    IoCallDriver(driver.device, sent.irps[0]);
    driver.key = 3;
    IoCallDriver(driver.device, sent.irps[1]);
    driver.key = 8;
    IoCallDriver(driver.device, sent.irps[2]);
    driver.key = 6;
    driver.finish(); // from 6 up: 8, then round to 3
    EXPECT_EQ(driver.current, sent.irps[2]);
    driver.finish();
    EXPECT_EQ(driver.current, sent.irps[1]);
    driver.finish();
    EXPECT_EQ(sent.completions(), 3);
}

TEST_P(StartIo, CancelQueuedPacket_CompletesCancelled) {
    send_all();
    EXPECT_TRUE(IoCancelIrp(sent.irps[1]));
    EXPECT_EQ(sent.outcomes[1].status, STATUS_CANCELLED);
    driver.finish();
    EXPECT_EQ(driver.current, sent.irps[2]);
    driver.finish();
    EXPECT_EQ(sent.completions(), 3);
}

// Tests that StartIo's current IRP has no cancel routine.
TEST_P(StartIo, CancelCurrentIrp_ReturnsFalse) {
    send_all();
    EXPECT_FALSE(IoCancelIrp(sent.irps[0]));
    while (driver.finish()) {
    }
    EXPECT_EQ(sent.outcomes[0].status, STATUS_SUCCESS);
}

// Tests that an IRP that was cancelled before it was queued is not queued.
TEST_P(StartIo, CancelledBeforeStartPacket_IsNotQueued) {
    IoCallDriver(driver.device, sent.irps[0]);
    EXPECT_FALSE(IoCancelIrp(sent.irps[1]));
    EXPECT_EQ(IoCallDriver(driver.device, sent.irps[1]), STATUS_PENDING);
    EXPECT_EQ(sent.outcomes[1].status, STATUS_CANCELLED);
    EXPECT_TRUE(IsListEmpty(&driver.device->DeviceQueue.DeviceListHead));
    IoCallDriver(driver.device, sent.irps[2]);
    while (driver.finish()) {
    }
    EXPECT_EQ(sent.completions(), 3);
}

TEST_P(StartIo, NonCancelable_ClearsRoutineBeforeStartIo) {
    IoSetStartIoAttributes(driver.device, FALSE, TRUE);
    driver.driver.DriverStartIo = [](DEVICE_OBJECT* device, IRP* irp) {
        EXPECT_EQ(irp->CancelRoutine, nullptr);
        start_io_driver::of(device).current = irp;
    };
    send_all();
    EXPECT_NE(sent.irps[1]->CancelRoutine, nullptr); // it can be cancelled while it waits
    while (driver.finish()) {
    }
    EXPECT_EQ(sent.completions(), 3);
}

// Tests recursion: IoStartNextPacket from inside DriverStartIo nests without DeferredStartIo.
TEST_P(StartIo, DeferredStartIo_DoesNotRecurse) {
    for (const bool deferred : {false, true}) {
        IoSetStartIoAttributes(driver.device, deferred, FALSE);
        requests<3> more(driver.device);
        driver.finish_in_start = false;
        for (IRP* irp : more.irps)
            IoCallDriver(driver.device, irp);
        driver.finish_in_start = true;
        driver.deepest = 0;
        driver.finish();
        EXPECT_EQ(more.completions(), 3);
        EXPECT_EQ(driver.deepest, deferred ? 1 : 2);
        EXPECT_EQ(driver.device->CurrentIrp, nullptr);
    }
    send_all();
}

IRPVERBS_ON_BOTH_MACHINES(StartIo);

// The second check of Cancel in IoStartPacket is for an IRP that is cancelled on its way into the
// queue.
explore_options cancelled_early() {
    explore_options options = thorough(500'000);
    options.required_probes = {"start_io.cancelled_before_it_waited"};
    return options;
}

// Senders, a canceller and a server race: each IRP completes once, and the device is idle at the
// end.
void race(sim_machine& sim, bool deferred) {
    start_io_driver driver;
    IoSetStartIoAttributes(driver.device, deferred, FALSE);
    requests<2> sent(driver.device);
    sim.spawn("send first", [&] { IoCallDriver(driver.device, sent.irps[0]); });
    sim.spawn("send second", [&] { IoCallDriver(driver.device, sent.irps[1]); });
    sim.spawn("cancel", [&] {
        for (IRP* irp : sent.irps)
            IoCancelIrp(irp);
    });
    sim.spawn("serve", [&] { driver.finish(); });
    sim.run();
    while (driver.finish()) {
    }
    for (const outcome& each : sent.outcomes)
        EXPECT_EQ(each.completions, 1);
    EXPECT_FALSE(driver.device->DeviceQueue.Busy);
    EXPECT_EQ(driver.device->CurrentIrp, nullptr);
}

TEST(StartIoRaces, SendCancelAndStartNextRace_EachIrpCompletesOnce) {
    expect_exhausted(cancelled_early(), [](sim_machine& sim) { race(sim, false); });
}

TEST(StartIoRaces, DeferredStartIoRace_EachIrpCompletesOnce) {
    explore_options options = cancelled_early();
    options.required_probes.push_back("start_io.left_to_running_call");
    expect_exhausted(options, [](sim_machine& sim) { race(sim, true); });
}

} // namespace
