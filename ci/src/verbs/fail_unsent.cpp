#include <ci/support/fail_unsent.hpp>

#include "null_device.hpp"

namespace irpverbs::ci::detail {

namespace {

NTSTATUS complete_with_status(DEVICE_OBJECT*, IRP* irp) {
    const void* asked = IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1;
    const auto status = static_cast<NTSTATUS>(reinterpret_cast<LONG_PTR>(asked));
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

constexpr DRIVER_OBJECT make_driver() {
    DRIVER_OBJECT made{};
    made.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = complete_with_status;
    return made;
}
constinit DRIVER_OBJECT null_driver = make_driver();

constexpr DEVICE_OBJECT make_device() {
    DEVICE_OBJECT made{};
    made.StackSize = 1;
    made.Header.ReferenceCount = 1;
    made.DriverObject = &null_driver;
    return made;
}
constinit DEVICE_OBJECT null_device = make_device();

} // namespace

NTSTATUS send_to_null_device(IRP* irp, NTSTATUS status) {
    IoGetNextIrpStackLocation(irp)->Parameters.Others.Argument1 =
        reinterpret_cast<void*>(static_cast<LONG_PTR>(status));
    return IoCallDriver(&null_device, irp);
}

void fail_unsent(IRP* irp, NTSTATUS status) {
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->MinorFunction = 0;
    send_to_null_device(irp, status);
}

} // namespace irpverbs::ci::detail
