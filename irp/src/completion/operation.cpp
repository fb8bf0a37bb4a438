#include <irp/detail/operation.hpp>

#include <dispatch/machine.hpp>
#include <dispatch/testing/probe.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace irpverbs::irp::detail {

operation::operation(step on_completed, step on_abandoned)
    : context_(dispatch::machine::current().context()), on_completed_(on_completed),
      on_abandoned_(on_abandoned) {}

operation::~operation() {
    if (irp_ != nullptr) IoFreeIrp(irp_);
}

IRP* operation::allocate_irp(CCHAR stack_size) {
    irp_ = IoAllocateIrp(stack_size, FALSE);
    if (irp_ == nullptr)
        post();
    else
        IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    return irp_;
}

void operation::set_deadline(deadline& by, ticks limit) {
    armed_deadline_ = &by;
    references_.store(2, std::memory_order_relaxed);
    by.set(*this, limit);
}

NTSTATUS operation::status() const noexcept {
    if (irp_ == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    const NTSTATUS status = irp_->IoStatus.Status;
    const bool late = cancelled_by_.load(std::memory_order_relaxed) == cause::deadline;
    return late && status == STATUS_CANCELLED ? STATUS_IO_TIMEOUT : status;
}

ULONG_PTR operation::information() const noexcept {
    return irp_ != nullptr ? irp_->IoStatus.Information : 0;
}

NTSTATUS operation::completed(struct _DEVICE_OBJECT*, IRP*, void* context) {
    auto& self = *static_cast<operation*>(context);
    if (self.armed_deadline_ == nullptr || self.armed_deadline_->try_cancel()) {
        self.post();
    } else {
        IRPVERBS_PROBE("deadline.met_the_result");
        self.dereference(); // its DPC runs, or soon will
    }
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void operation::dereference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) post();
}

void operation::cancel(cause why) {
    cause none = cause::none;
    cancelled_by_.compare_exchange_strong(none, why, std::memory_order_relaxed);
    IoCancelIrp(irp_);
}

void operation::post() { boost::asio::post(context_.get_executor(), posted_completion(*this)); }

void deadline::set(operation& owner, ticks limit) {
    KeInitializeTimer(&timer_);
    KeInitializeDpc(&dpc_, expired, &owner);
    LARGE_INTEGER due;
    due.QuadPart = -std::max<LONGLONG>(limit.count(), 0);
    KeSetTimer(&timer_, due, &dpc_);
}

// False: the DPC has been queued and can no longer be removed.
bool deadline::try_cancel() { return KeCancelTimer(&timer_) != 0 || KeRemoveQueueDpc(&dpc_) != 0; }

void deadline::expired(KDPC*, void* context, void*, void*) {
    auto& owner = *static_cast<operation*>(context);
    owner.cancel(operation::cause::deadline);
    owner.dereference();
}

} // namespace irpverbs::irp::detail
