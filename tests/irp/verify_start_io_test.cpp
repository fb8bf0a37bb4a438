// Rules on StartIo, one violation and one correct use each.
#include "verified.hpp"

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

void cancel_waiting(DEVICE_OBJECT* device, IRP* irp) {
    KeRemoveEntryDeviceQueue(&device->DeviceQueue, &irp->Tail.Overlay.DeviceQueueEntry);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    complete(irp, STATUS_CANCELLED);
}

/// Serves each request in DriverStartIo and starts the next one there.
class start_io_driver {
public:
    start_io_driver() {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        driver_.DriverStartIo = start;
        IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_);
        *static_cast<start_io_driver**>(device_->DeviceExtension) = this;
    }
    ~start_io_driver() { IoDeleteDevice(device_); }
    start_io_driver(const start_io_driver&) = delete;
    start_io_driver& operator=(const start_io_driver&) = delete;

    DEVICE_OBJECT* device() const { return device_; }
    PDRIVER_CANCEL cancel = nullptr;

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        IoMarkIrpPending(irp);
        IoStartPacket(device, irp, nullptr,
                      (*static_cast<start_io_driver**>(device->DeviceExtension))->cancel);
        return STATUS_PENDING;
    }
    static void start(DEVICE_OBJECT* device, IRP* irp) {
        KIRQL level = DISPATCH_LEVEL;
        IoAcquireCancelSpinLock(&level);
        IoSetCancelRoutine(irp, nullptr);
        IoReleaseCancelSpinLock(level);
        IoStartNextPacket(device, TRUE);
        complete(irp, STATUS_SUCCESS);
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

/// One request to a device that `set_up` configured.
std::vector<reported_finding> started(const std::function<void(start_io_driver&)>& set_up) {
    return found_in([&](sim_machine&) {
        start_io_driver driver;
        set_up(driver);
        IRP* irp = IoAllocateIrp(1, FALSE);
        IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        IoSetCompletionRoutine(
            irp,
            [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS { return STATUS_MORE_PROCESSING_REQUIRED; },
            nullptr, TRUE, TRUE, TRUE);
        IoCallDriver(driver.device(), irp);
        IoFreeIrp(irp);
    });
}

TEST(StartIoRecursion, Broken_IsReported) {
    EXPECT_TRUE(is(started([](start_io_driver&) {}), "StartIoRecursion", violation, 0x4952101E));
}
TEST(StartIoRecursion, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(started(
        [](start_io_driver& driver) { IoSetStartIoAttributes(driver.device(), TRUE, TRUE); })));
}

TEST(StartIoCancel, Broken_IsReported) {
    EXPECT_TRUE(is(started([](start_io_driver& driver) {
                       IoSetStartIoAttributes(driver.device(), TRUE, FALSE);
                   }),
                   "StartIoCancel", violation, 0x4952101D));
}
TEST(StartIoCancel, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(started([](start_io_driver& driver) {
        IoSetStartIoAttributes(driver.device(), TRUE, FALSE);
        driver.cancel = cancel_waiting;
    })));
}

// Some WDK pages allow any level up to DISPATCH_LEVEL where SDV's IrqlDispatch requires it.
std::vector<reported_finding> take_at(KIRQL level, const std::string& options) {
    return found_with(options, [level](sim_machine&) {
        KDEVICE_QUEUE queue;
        KDEVICE_QUEUE_ENTRY entries[2];
        KeInitializeDeviceQueue(&queue);
        KIRQL before = PASSIVE_LEVEL;
        KeRaiseIrql(DISPATCH_LEVEL, &before);
        for (KDEVICE_QUEUE_ENTRY& each : entries)
            KeInsertDeviceQueue(&queue, &each);
        KeLowerIrql(before);
        KeRaiseIrql(level, &before);
        EXPECT_EQ(KeRemoveDeviceQueue(&queue), &entries[1]);
        EXPECT_EQ(KeGetCurrentIrql(), level);
        KeLowerIrql(before);
    });
}
TEST(DeviceQueueIrql, BelowDispatchLevel_IsReportedUnlessLax) {
    EXPECT_TRUE(nothing(take_at(DISPATCH_LEVEL, "default")));
    EXPECT_TRUE(is(take_at(APC_LEVEL, "default"), "IrqlDispatch", violation, 0x00020003));
    EXPECT_TRUE(nothing(take_at(APC_LEVEL, "default,lax_device_queue_irql")));
    EXPECT_TRUE(nothing(take_at(DISPATCH_LEVEL, "default,lax_device_queue_irql")));
}

} // namespace
