#include "verb_call.hpp"

namespace irpverbs::verbs {

namespace {

NTSTATUS completed(PDEVICE_OBJECT, PIRP, PVOID event) {
    KeSetEvent(static_cast<PKEVENT>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

} // namespace

awaited_irp::awaited_irp() : irp_(IoAllocateIrp(1, FALSE)) {
    KeInitializeEvent(&completed_, NotificationEvent, FALSE);
    if (irp_ != nullptr) IoSetCompletionRoutine(irp_, completed, &completed_, TRUE, TRUE, TRUE);
}

awaited_irp::~awaited_irp() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

outcome awaited_irp::wait() {
    KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr);
    return {irp_->IoStatus.Status, irp_->IoStatus.Information};
}

} // namespace irpverbs::verbs
