#include "request.hpp"

#include "driver/driver_checks.hpp"
#include "objects/turn_queue.hpp"
#include "user/user_buffer.hpp"
#include "verb.hpp"

namespace irpverbs::ci {

namespace {

// Completes an IRP whose stack location has flags.
[[gnu::noinline]] NTSTATUS complete_flagged(IRP* irp, IO_STACK_LOCATION* location, const verb& row,
                                            NTSTATUS status, ULONG_PTR information) {
    object& target = object_of(row, parameters_of(location).object);
    const UCHAR flags = location->Flags;
    if ((flags & has_turn) != 0) target.on_changed(parameters_of(location), status);
    if ((flags & bounced) != 0)
        status = return_user_buffer(location, row.buffer, status, information);
    finish(irp, status, information);
    if ((flags & has_turn) != 0) target.turns()->end_turn();
    target.dereference();
    return status;
}

// Completes an IRP that references its object.
NTSTATUS complete_referenced(IRP* irp, IO_STACK_LOCATION* location, const verb& row,
                             NTSTATUS status, ULONG_PTR information) {
    if ((location->Flags & (bounced | has_turn)) != 0) [[unlikely]]
        return complete_flagged(irp, location, row, status, information);
    object& target = object_of(row, parameters_of(location).object);
    finish(irp, status, information);
    target.dereference();
    return status;
}

} // namespace

NTSTATUS finish(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = NT_ERROR(status) ? 0 : information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

NTSTATUS dispatch_verb(DEVICE_OBJECT* fdo, IRP* irp) {
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    irp->IoStatus.Information = 0;
    return verb_of(location).begin(device_of(fdo), irp, location);
}

NTSTATUS submit(IRP* irp) {
    const hca_device& device = device_of(IoGetCurrentIrpStackLocation(irp)->DeviceObject);
    return device.submit(irp);
}

NTSTATUS submit_with_turn(IRP* irp) {
    IoGetCurrentIrpStackLocation(irp)->Flags |= has_turn;
    return submit(irp);
}

NTSTATUS complete(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    const verb& row = verb_of(location);
    if (row.does == action::creates) return row.end(irp, location, status);
    return complete_referenced(irp, location, row, status, information);
}

NTSTATUS complete_executed(IRP* irp, IO_STACK_LOCATION* location, const verb& row, NTSTATUS status,
                           ULONG_PTR information) {
    if (row.end != nullptr) return row.end(irp, location, status);
    if (row.buffer.how == buffer_use::kind::out && !NT_ERROR(status))
        check_returned(device_of(location->DeviceObject), row.name, information,
                       parameters_of(location).number);
    return complete_referenced(irp, location, row, status, information);
}

void complete_event(IRP* irp, IB_ASYNC_EVENT event) {
    const verb& row = verb_of(IoGetCurrentIrpStackLocation(irp));
    finish(irp, STATUS_SUCCESS, row.returns_event ? static_cast<ULONG_PTR>(event) : 0);
}

} // namespace irpverbs::ci
