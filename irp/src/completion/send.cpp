#include <irp/send.hpp>

#if defined(__cpp_impl_coroutine)
#include <dispatch/support/locals.hpp>

namespace irpverbs::irp::detail {

using dispatch::detail::processor;
using dispatch::detail::this_processor;

namespace {

// A send() that has not returned, on the stack of its processor. The completion routine searches
// the processor's list for its own entry, to find out whether it runs inside the call: no locked
// instruction is needed. Neither address alone would suffice, since stacks and coroutine frames are
// reused. The destructor removes the entry also when the send throws, which a bug-check handler may
// do.
class call {
public:
    call(call*& innermost, const sent_irp& packet)
        : innermost_(innermost), outer_(innermost), packet_(&packet) {
        innermost_ = this;
    }
    ~call() { innermost_ = outer_; }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    call* outer() const { return outer_; }
    bool sends(const sent_irp& packet) const { return packet_ == &packet; }
    void complete() { packet_ = nullptr; }
    bool completed() const { return packet_ == nullptr; }

private:
    call*& innermost_;
    call* const outer_;
    const sent_irp* packet_;
};

IRPVERBS_REGISTERED_EARLY const dispatch::detail::processor_local<call*> innermost;

} // namespace

// False: the coroutine continues at once. Otherwise *this may be destroyed when IoCallDriver
// returns.
bool sent_irp::send() {
    call here(innermost.of(this_processor()), *this);
    inside_ = &here;
    IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    IoCallDriver(device_, irp_);
    return !here.completed();
}

// Most completions find no call on their processor, and PASSIVE_LEVEL.
NTSTATUS sent_irp::completed(DEVICE_OBJECT*, IRP*, void* context) {
    auto* self = static_cast<sent_irp*>(context);
    const processor& here = this_processor();
    if (innermost.of(here) == nullptr && here.irql == PASSIVE_LEVEL) [[likely]]
        self->waiting_.resume();
    else
        self->completed_elsewhere();
    return STATUS_MORE_PROCESSING_REQUIRED;
}

[[gnu::noinline]] void sent_irp::completed_elsewhere() {
    const processor& here = this_processor();
    for (call* each = innermost.of(here); each != nullptr; each = each->outer())
        if (each == inside_ && each->sends(*this)) return each->complete();
    if (here.irql == PASSIVE_LEVEL) return waiting_.resume();
    ExInitializeWorkItem(&item_, resume_at_passive, this);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
}

void sent_irp::resume_at_passive(void* context) {
    static_cast<sent_irp*>(context)->waiting_.resume();
}

} // namespace irpverbs::irp::detail
#endif
