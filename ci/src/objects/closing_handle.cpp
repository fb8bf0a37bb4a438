#include <ci/detail/closing_handle.hpp>

#include "hca_device.hpp"

#include <new>

namespace irpverbs::ci::detail {

/// The state that outlives an object until its closing verb has completed.
struct closing_handle::close_request {
    IRP* irp = IoAllocateIrp(1, FALSE);
    DEVICE_OBJECT* fdo = nullptr;
    parent_handles parents;

    close_request() = default;
    ~close_request() {
        if (irp != nullptr) IoFreeIrp(irp);
    }
    close_request(const close_request&) = delete;
    close_request& operator=(const close_request&) = delete;
};

closing_handle::closing_handle(closing_verb close) noexcept : close_(close) {}

std::shared_ptr<closing_handle> closing_handle::reserve(closing_verb close,
                                                        parent_handles parents) noexcept {
    try {
        std::shared_ptr<closing_handle> made(new closing_handle(close));
        made->close_request_ = std::make_unique<close_request>();
        if (made->close_request_->irp == nullptr) return nullptr;
        for (const auto& parent : parents) {
            if (parent == nullptr) continue;
            parent->children_.fetch_add(1, std::memory_order_relaxed);
            made->fdo_ = parent->fdo_;
        }
        made->close_request_->parents = std::move(parents);
        return made;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// An object without parents is a channel adapter.
void closing_handle::set_object(void* object) noexcept {
    object_ = object;
    if (fdo_ == nullptr) fdo_ = static_cast<HCA_CA*>(object)->Device;
}

parent_handles closing_handle::close_with(IRP* irp) noexcept {
    close_irp_ = irp;
    return close_request_->parents;
}

closing_handle::~closing_handle() {
    if (close_request_ == nullptr) return;
    for (const auto& parent : close_request_->parents)
        if (parent != nullptr) parent->children_.fetch_sub(1, std::memory_order_release);
    if (object_ == nullptr) return;
    if (close_irp_ != nullptr) {
        close_(object_, close_irp_);
        return;
    }
    close_request* last = close_request_.release();
    last->fdo = fdo_;
    const deferred_end_frame frame(device_of(fdo_));
    device_of(fdo_).begin_deferred_end();
    IoSetCompletionRoutine(last->irp, close_completed, last, TRUE, TRUE, TRUE);
    close_(object_, last->irp);
}

// The release of the parents may begin their ends, so this one ends after it.
NTSTATUS closing_handle::close_completed(DEVICE_OBJECT*, IRP*, void* context) {
    auto* const last = static_cast<close_request*>(context);
    hca_device& device = device_of(last->fdo);
    delete last;
    device.end_deferred_end();
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void close_call::start(IRP* irp) {
    if (*handle == nullptr) return fail_unsent(irp, STATUS_INVALID_PARAMETER);
    if ((*handle)->has_children()) return fail_unsent(irp, STATUS_DEVICE_BUSY);
    const std::shared_ptr<closing_handle> last = std::move(*handle);
    parents = last->close_with(irp);
}

} // namespace irpverbs::ci::detail
