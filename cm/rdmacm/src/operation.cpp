#include "operation.hpp"

namespace irpverbs::rdmacm {

operation::~operation() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

bool operation::reserve(CCHAR stack_size) {
    irp_ = IoAllocateIrp(stack_size, FALSE);
    return irp_ != nullptr;
}

// The owner may end as soon as the protection is released.
NTSTATUS operation::completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    operation& self = *static_cast<operation*>(context);
    EX_RUNDOWN_REF& owner = self.owner_;
    const IO_STATUS_BLOCK result = irp->IoStatus;
    self.in_progress_ = false; // the end may start it again
    self.ended_(self.context_, result.Status, result.Information);
    ExReleaseRundownProtection(&owner);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace irpverbs::rdmacm
