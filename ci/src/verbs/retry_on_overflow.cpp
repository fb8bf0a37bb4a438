#include <ci/detail/retry_on_overflow.hpp>

#include <new>

namespace irpverbs::ci::detail {

void retry_on_overflow::start(IRP* irp) {
    if (!grow(size_)) return fail_unsent(irp, STATUS_INSUFFICIENT_RESOURCES);
    IoSetNextIrpStackLocation(irp);
    send(irp);
}

bool retry_on_overflow::grow(SIZE_T size) noexcept {
    try {
        buffer_.resize(size);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void retry_on_overflow::send(IRP* irp) {
    IoSetCompletionRoutine(irp, on_completed, this, TRUE, TRUE, TRUE);
    how_->send(*this, irp);
}

// A STATUS_BUFFER_OVERFLOW for a buffer that was large enough does not repeat the call, which would
// loop.
bool retry_on_overflow::overflowed(const IRP& irp) const {
    return irp.IoStatus.Status == STATUS_BUFFER_OVERFLOW && how_->needed(*this) > buffer_.size();
}

NTSTATUS retry_on_overflow::on_completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<retry_on_overflow*>(context);
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
