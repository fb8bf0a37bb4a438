#include "ours_stack.hpp"

namespace irpverbs::bench {
namespace {

BENCH_OPAQUE NTSTATUS pass_pending_on(PDEVICE_OBJECT, PIRP irp, PVOID) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

BENCH_OPAQUE NTSTATUS filter(PDEVICE_OBJECT device, PIRP irp) {
    IoCopyCurrentIrpStackLocationToNext(irp);
    IoSetCompletionRoutine(irp, pass_pending_on, nullptr, TRUE, TRUE, TRUE);
    return IoCallDriver(static_cast<PDEVICE_OBJECT>(context_of(device)), irp);
}

} // namespace

// A filter's context is the device below it.
device_stack::device_stack(PDRIVER_DISPATCH bottom, int filters, PVOID context) {
    for (int level = 0; level <= filters; ++level) {
        auto* driver = new DRIVER_OBJECT{};
        for (auto& dispatch : driver->MajorFunction)
            dispatch = level == 0 ? bottom : filter;
        drivers_.push_back(driver);
        PDEVICE_OBJECT device = nullptr;
        const NTSTATUS status =
            IoCreateDevice(driver, sizeof(PVOID), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        expect(NT_SUCCESS(status), "IoCreateDevice");
        if (level > 0) context = IoAttachDeviceToDeviceStack(device, devices_.back());
        *static_cast<PVOID*>(device->DeviceExtension) = context;
        device->Flags &= ~static_cast<ULONG>(DO_DEVICE_INITIALIZING);
        devices_.push_back(device);
    }
}

device_stack::~device_stack() {
    while (!devices_.empty()) {
        if (devices_.size() > 1) IoDetachDevice(devices_[devices_.size() - 2]);
        IoDeleteDevice(devices_.back());
        delete drivers_.back();
        devices_.pop_back();
        drivers_.pop_back();
    }
}

BENCH_OPAQUE NTSTATUS count_and_keep(PDEVICE_OBJECT, PIRP irp, PVOID context) {
    *static_cast<std::uint64_t*>(context) += irp->IoStatus.Information;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

BENCH_OPAQUE NTSTATUS complete_at_once(PDEVICE_OBJECT, PIRP irp) {
    complete(irp, STATUS_SUCCESS, result_information);
    return STATUS_SUCCESS;
}

} // namespace irpverbs::bench
