#include "packet.hpp"
#include "rules.hpp"

#include <dispatch/detail/checks.hpp>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

ULONG_PTR address(const void* object) { return reinterpret_cast<ULONG_PTR>(object); }

// Which bits of a location's Control ask for its routine, as the IRP stands now.
UCHAR called_for(const IRP& irp) {
    const UCHAR by_status =
        NT_SUCCESS(irp.IoStatus.Status) ? SL_INVOKE_ON_SUCCESS : SL_INVOKE_ON_ERROR;
    return __atomic_load_n(&irp.Cancel, __ATOMIC_RELAXED) ? by_status | SL_INVOKE_ON_CANCEL
                                                          : by_status;
}

void check_completable(IRP* irp) {
    if (irp->Type != live_packet || irp->CurrentLocation > irp->StackCount)
        bug_check(MULTIPLE_IRP_COMPLETE_REQUESTS,
                  "IoCompleteRequest: the IRP was completed before, or was never sent",
                  address(irp));
    if (irp->IoStatus.Status == STATUS_PENDING || irp->IoStatus.Status == -1)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCompleteRequest: the IRP's status is STATUS_PENDING or -1", 0x06,
                  static_cast<ULONG_PTR>(irp->IoStatus.Status), address(irp));
    if (__atomic_load_n(&irp->CancelRoutine, __ATOMIC_RELAXED) != nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCompleteRequest: the IRP still has a cancel routine", 0x07,
                  address(reinterpret_cast<void*>(irp->CancelRoutine)), address(irp));
}

// Nobody took the IRP back: it is at its top.
void finish(IRP* irp) {
    if (irp->Flags != 0 || irp->UserIosb != nullptr || irp->UserEvent != nullptr)
        last_stage(irp);
    else
        free_packet(irp);
}

} // namespace

extern "C" {

void IoCompleteRequest(PIRP Irp, CCHAR) {
    enter(irql_rules::IoCompleteRequest, point::complete_request, Irp);
    check_completable(Irp);
    const CCHAR top = Irp->StackCount;
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    UCHAR failed = 0;
    while (Irp->CurrentLocation <= top) {
        const UCHAR control = location->Control;
        const PIO_COMPLETION_ROUTINE routine = location->CompletionRoutine;
        PVOID context = location->Context;
        failed |= NT_SUCCESS(Irp->IoStatus.Status) ? control & SL_ERROR_RETURNED
                                                   : UCHAR{SL_ERROR_RETURNED};
        Irp->PendingReturned = (control & SL_PENDING_RETURNED) != 0;
        const bool call = (control & called_for(*Irp)) != 0;
        location->MinorFunction = 0;
        location->Flags = 0;
        location->Control = failed;
        location->CompletionRoutine = nullptr;
        ++location;
        ++Irp->CurrentLocation;
        const bool originator = Irp->CurrentLocation > top;
        if (call) {
            if (routine(originator ? nullptr : location->DeviceObject, Irp, context) ==
                STATUS_MORE_PROCESSING_REQUIRED)
                return;
        } else if (Irp->PendingReturned && !originator) {
            location->Control |= SL_PENDING_RETURNED;
        }
    }
    finish(Irp);
}

NTSTATUS IoCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp) {
    enter(irql_rules::IoCallDriver, point::call_driver, Irp);
    if (DeviceObject == nullptr)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION, "IoCallDriver: the device is NULL", 0x204, 0,
                  address(Irp));
    if (Irp->Type != live_packet)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCallDriver: this is no IRP, or it was freed", 0x03, address(Irp));
    if (--Irp->CurrentLocation <= 0)
        bug_check(NO_MORE_IRP_STACK_LOCATIONS, "IoCallDriver: the IRP has no stack location left",
                  address(Irp));
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    location->DeviceObject = DeviceObject;
    const UCHAR major = location->MajorFunction;
    if (major > IRP_MJ_MAXIMUM_FUNCTION ||
        DeviceObject->DriverObject->MajorFunction[major] == nullptr) {
        Irp->IoStatus.Status = STATUS_INVALID_DEVICE_REQUEST;
        Irp->IoStatus.Information = 0;
        IoCompleteRequest(Irp, 0);
        return STATUS_INVALID_DEVICE_REQUEST;
    }
    return DeviceObject->DriverObject->MajorFunction[major](DeviceObject, Irp);
}

void IoSetNextIrpStackLocation(PIRP Irp) {
    if (--Irp->CurrentLocation <= 0)
        bug_check(NO_MORE_IRP_STACK_LOCATIONS, "IoSetNextIrpStackLocation: no stack location left",
                  address(Irp));
}

} // extern "C"
