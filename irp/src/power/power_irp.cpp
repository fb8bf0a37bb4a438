#include "irql_rules.hpp"
#include "require.hpp"

#include <irp/power.h>

#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>

#include <memory>
#include <new>

namespace {

using namespace irpverbs::dispatch::detail;

struct power_request {
    DEVICE_OBJECT* device;
    UCHAR minor;
    POWER_STATE state;
    PREQUEST_POWER_COMPLETE completed;
    void* context;
    object_reference top;
};

NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    const std::unique_ptr<power_request> request(static_cast<power_request*>(context));
    if (request->completed != nullptr)
        request->completed(request->device, request->minor, request->state, request->context,
                           &irp->IoStatus);
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void set_parameters(IO_STACK_LOCATION& next, UCHAR minor, POWER_STATE state) {
    next.MajorFunction = IRP_MJ_POWER;
    next.MinorFunction = minor;
    if (minor == IRP_MN_WAIT_WAKE) {
        next.Parameters.WaitWake.PowerState = state.SystemState;
        return;
    }
    next.Parameters.Power.Type = DevicePowerState;
    next.Parameters.Power.State = state;
}

} // namespace

extern "C" NTSTATUS PoRequestPowerIrp(PDEVICE_OBJECT DeviceObject, UCHAR MinorFunction,
                                      POWER_STATE PowerState,
                                      PREQUEST_POWER_COMPLETE CompletionFunction, PVOID Context,
                                      PIRP* Irp) {
    irpverbs::irp::require(DeviceObject, "PoRequestPowerIrp: the device is NULL");
    VERIFY_IRQL(PoRequestPowerIrp);
    if (MinorFunction != IRP_MN_SET_POWER && MinorFunction != IRP_MN_QUERY_POWER &&
        MinorFunction != IRP_MN_WAIT_WAKE)
        return STATUS_INVALID_PARAMETER_2;
    if (fault_point("irp.power_request")) return STATUS_INSUFFICIENT_RESOURCES;
    DEVICE_OBJECT* top = IoGetAttachedDevice(DeviceObject);
    std::unique_ptr<power_request> request(new (std::nothrow) power_request{
        DeviceObject, MinorFunction, PowerState, CompletionFunction, Context,
        object_reference(&top->Header)});
    IRP* irp = request != nullptr ? IoAllocateIrp(top->StackSize, FALSE) : nullptr;
    if (irp == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    set_parameters(*IoGetNextIrpStackLocation(irp), MinorFunction, PowerState);
    IoSetCompletionRoutine(irp, completed, request.release(), TRUE, TRUE, TRUE);
    if (Irp != nullptr) *Irp = irp;
    IoCallDriver(top, irp);
    return STATUS_PENDING;
}
