#include <irp/send.hpp>

#if defined(__cpp_impl_coroutine)
#include <dispatch/support/locals.hpp>

namespace irpverbs::irp::detail {

using dispatch::detail::processor;
using dispatch::detail::this_processor;

// A send() that has not returned, on the stack of its processor. The completion routine searches
// the processor's list for its own entry, to find out whether it runs inside the call: no locked
// instruction is needed. Neither address alone would suffice, since stacks and coroutine frames are
// reused.
struct sent_irp::call {
    const sent_irp* packet;
    call* outer;
    bool completed = false;

    static const dispatch::detail::processor_local<call*> innermost;
};

IRPVERBS_REGISTERED_EARLY const dispatch::detail::processor_local<sent_irp::call*>
    sent_irp::call::innermost;

// Removes the call from the list also when the send throws, which a bug-check handler may do.
class sent_irp::call_scope {
public:
    call_scope(call*& innermost, call& here) : innermost_(innermost), outer_(here.outer) {
        innermost_ = &here;
    }
    ~call_scope() { innermost_ = outer_; }
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

private:
    call*& innermost_;
    call* outer_;
};

// False: the coroutine continues at once. Otherwise *this may be destroyed when IoCallDriver
// returns.
bool sent_irp::send() {
    call*& innermost = call::innermost.of(this_processor());
    call here{this, innermost};
    const call_scope inside(innermost, here);
    inside_ = &here;
    IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    IoCallDriver(device_, irp_);
    return !here.completed;
}

NTSTATUS sent_irp::completed(DEVICE_OBJECT*, IRP*, void* context) {
    auto* self = static_cast<sent_irp*>(context);
    const processor& here = this_processor();
    for (call* each = call::innermost.of(here); each != nullptr; each = each->outer)
        if (each == self->inside_ && each->packet == self) {
            each->completed = true;
            return STATUS_MORE_PROCESSING_REQUIRED;
        }
    if (here.irql == PASSIVE_LEVEL) {
        self->waiting_.resume();
    } else {
        ExInitializeWorkItem(&self->item_, resume_at_passive, self);
        ExQueueWorkItem(&self->item_, DelayedWorkQueue);
    }
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void sent_irp::resume_at_passive(void* context) {
    static_cast<sent_irp*>(context)->waiting_.resume();
}

} // namespace irpverbs::irp::detail
#endif
