#include <ci/detail/query.hpp>

#include <cstring>
#include <new>

namespace irpverbs::ci::detail {

void growing_query::start(IRP* irp) {
    if (!grow(size_)) return refuse(irp, STATUS_INSUFFICIENT_RESOURCES);
    IoSetNextIrpStackLocation(irp);
    send(irp);
}

bool growing_query::grow(SIZE_T size) noexcept {
    try {
        block_.resize(size);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void growing_query::send(IRP* irp) {
    IoSetCompletionRoutine(irp, answered, this, TRUE, TRUE, TRUE);
    asks_(*this, block_.size(), block_.data(), irp);
}

// All blocks begin with it.
ULONG growing_query::whole_size() const noexcept {
    ULONG size = 0;
    std::memcpy(&size, block_.data(), sizeof(size));
    return size;
}

bool growing_query::too_small(const IRP& irp) const noexcept {
    return irp.IoStatus.Status == STATUS_BUFFER_OVERFLOW && whole_size() > block_.size();
}

NTSTATUS growing_query::answered(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto& self = *static_cast<growing_query*>(context);
    if (self.too_small(*irp)) {
        if (self.grow(self.whole_size())) {
            self.send(irp);
            return STATUS_MORE_PROCESSING_REQUIRED;
        }
        irp->IoStatus.Status = STATUS_INSUFFICIENT_RESOURCES;
        irp->IoStatus.Information = 0;
    }
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

std::vector<std::byte> growing_query::take(ULONG_PTR information) {
    if (information == 0 || information != whole_size()) return {};
    block_.resize(information);
    return std::move(block_);
}

} // namespace irpverbs::ci::detail
