#include <irp/send.hpp>

#if defined(__cpp_impl_coroutine)
#include <dispatch/support/processor.hpp>

namespace irpverbs::irp::detail {

using dispatch::detail::processor;
using dispatch::detail::this_processor;

namespace {
constexpr std::size_t calls_index = 1; // of processor::caches
}

// A send() that has not returned, on the stack of its processor. The completion routine searches
// the processor's list for its own entry, to find out whether it runs inside the call: no locked
// instruction is needed. Neither address alone would suffice, since stacks and coroutine frames are
// reused.
struct sent_irp::call {
    const sent_irp* packet;
    call* outer;
    bool completed = false;
};

// Removes the call from the list also when the send throws, which a bug-check handler may do.
class sent_irp::call_scope {
public:
    call_scope(void*& innermost, call& here) : innermost_(innermost), outer_(here.outer) {
        innermost_ = &here;
    }
    ~call_scope() { innermost_ = outer_; }
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

private:
    void*& innermost_;
    call* outer_;
};

// False: the coroutine continues at once. Otherwise *this may be destroyed when IoCallDriver
// returns.
bool sent_irp::send() {
    void*& innermost = this_processor().caches[calls_index].head;
    call here{this, static_cast<call*>(innermost)};
    const call_scope inside(innermost, here);
    inside_ = &here;
    IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    IoCallDriver(device_, irp_);
    return !here.completed;
}

NTSTATUS sent_irp::completed(DEVICE_OBJECT*, IRP*, void* context) {
    auto* self = static_cast<sent_irp*>(context);
    const processor& here = this_processor();
    for (auto* each = static_cast<call*>(here.caches[calls_index].head); each != nullptr;
         each = each->outer)
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
