#include <ci/detail/refuse.hpp>

namespace irpverbs::ci::detail {

namespace {

NTSTATUS complete_as_asked(DEVICE_OBJECT*, IRP* irp) {
    const void* status = IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1;
    irp->IoStatus.Status = static_cast<NTSTATUS>(reinterpret_cast<LONG_PTR>(status));
    irp->IoStatus.Information = 0;
    const NTSTATUS answer = irp->IoStatus.Status;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return answer;
}

} // namespace

// Who made an IRP must not complete it himself: somebody has to be sent it.
void refuse(IRP* irp, NTSTATUS status) {
    static DRIVER_OBJECT driver = [] {
        DRIVER_OBJECT refuses{};
        refuses.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = complete_as_asked;
        return refuses;
    }();
    static DEVICE_OBJECT nowhere = [] {
        DEVICE_OBJECT device{};
        device.StackSize = 1;
        device.DriverObject = &driver;
        return device;
    }();
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->Parameters.Others.Argument1 = reinterpret_cast<void*>(static_cast<LONG_PTR>(status));
    IoCallDriver(&nowhere, irp);
}

} // namespace irpverbs::ci::detail
