#include "device.hpp"

namespace irpverbs::cm::engine {

NTSTATUS dispatch_verb(DEVICE_OBJECT*, IRP* irp) {
    using function = verb_result (*)(IRP*, const void*);
    const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
    const auto run = reinterpret_cast<function>(location.Parameters.Others.Argument1);
    const verb_result ended = run(irp, location.Parameters.Others.Argument2);
    if (ended.status == STATUS_PENDING) return STATUS_PENDING;
    irp->IoStatus.Status = ended.status;
    irp->IoStatus.Information = ended.information;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return ended.status;
}

} // namespace irpverbs::cm::engine
