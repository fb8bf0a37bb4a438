#include <ci/detail/growing_call.hpp>

#include <new>

namespace irpverbs::ci::detail {

void growing_call::start(IRP* irp) {
    if (!grow(size_)) return refuse(irp, STATUS_INSUFFICIENT_RESOURCES);
    IoSetNextIrpStackLocation(irp);
    send(irp);
}

bool growing_call::grow(SIZE_T size) noexcept {
    try {
        buffer_.resize(size);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void growing_call::send(IRP* irp) {
    IoSetCompletionRoutine(irp, answered, this, TRUE, TRUE, TRUE);
    how_->send(*this, irp);
}

// A STATUS_BUFFER_OVERFLOW for a buffer that was large enough does not repeat the call, which would
// loop.
bool growing_call::overflowed(const IRP& irp) const {
    return irp.IoStatus.Status == STATUS_BUFFER_OVERFLOW && how_->needed(*this) > buffer_.size();
}

NTSTATUS growing_call::answered(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<growing_call*>(context);
    if (self.overflowed(*irp)) {
        if (self.grow(self.how_->needed(self))) {
            self.send(irp);
            return STATUS_MORE_PROCESSING_REQUIRED;
        }
        irp->IoStatus.Status = STATUS_INSUFFICIENT_RESOURCES;
        irp->IoStatus.Information = 0;
    }
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

} // namespace irpverbs::ci::detail
