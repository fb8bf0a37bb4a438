#include <ci/detail/owned.hpp>

#include <new>

namespace irpverbs::ci::detail {

/// The state that outlives an object until its closing verb has completed.
struct owned::farewell {
    IRP* irp = IoAllocateIrp(1, FALSE);
    std::shared_ptr<owned> parent;

    farewell() = default;
    ~farewell() {
        if (irp != nullptr) IoFreeIrp(irp);
    }
    farewell(const farewell&) = delete;
    farewell& operator=(const farewell&) = delete;
};

owned::owned(closing_verb close) noexcept : close_(close) {}

std::shared_ptr<owned> owned::reserve(closing_verb close, std::shared_ptr<owned> parent) noexcept {
    try {
        std::shared_ptr<owned> made(new owned(close));
        made->farewell_ = std::make_unique<farewell>();
        if (made->farewell_->irp == nullptr) return nullptr;
        if (parent != nullptr) parent->children_.fetch_add(1, std::memory_order_relaxed);
        made->farewell_->parent = std::move(parent);
        return made;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::shared_ptr<owned> owned::close_with(IRP* irp) noexcept {
    carrier_ = irp;
    return farewell_->parent;
}

owned::~owned() {
    if (farewell_ == nullptr) return;
    if (farewell_->parent != nullptr)
        farewell_->parent->children_.fetch_sub(1, std::memory_order_release);
    if (object_ == nullptr) return;
    if (carrier_ != nullptr) {
        close_(object_, carrier_);
        return;
    }
    farewell* last = farewell_.release();
    IoSetCompletionRoutine(last->irp, gone, last, TRUE, TRUE, TRUE);
    close_(object_, last->irp);
}

NTSTATUS owned::gone(DEVICE_OBJECT*, IRP*, void* context) {
    delete static_cast<farewell*>(context);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void closing::start(IRP* irp) {
    if (*handle == nullptr) return refuse(irp, STATUS_INVALID_PARAMETER);
    if ((*handle)->has_children()) return refuse(irp, STATUS_DEVICE_BUSY);
    const std::shared_ptr<owned> last = std::move(*handle);
    parent = last->close_with(irp);
}

} // namespace irpverbs::ci::detail
