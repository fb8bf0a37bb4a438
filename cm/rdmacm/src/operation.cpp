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
    self.ended_(self.context_, irp->IoStatus.Status, irp->IoStatus.Information);
    ExReleaseRundownProtection(&owner);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace irpverbs::rdmacm
