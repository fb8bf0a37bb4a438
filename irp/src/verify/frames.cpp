#include "frames.hpp"

#include "irp_tracker.hpp"
#include "routine_return.hpp"

#include <dispatch/support/held_locks.hpp>
#include <dispatch/support/locals.hpp>
#include <dispatch/thread.h>

#include <functional>

namespace irpverbs::irp::verify {
namespace {

IRPVERBS_REGISTERED_EARLY const core::processor_local<frame*> innermost_frame;

// A processor's queue is draining for as long as it is inside a DPC.
bool inside_dpc(const core::processor& self) { return self.dpcs.draining; }

} // namespace

frame_scope::frame_scope(core::processor& self, frame& mine) : self_(self), mine_(mine) {
    mine.irql = self.irql;
    mine.kernel_apc_disable = self.thread->KernelApcDisable;
    mine.special_apc_disable = self.thread->SpecialApcDisable;
    mine.in_dpc = inside_dpc(self);
    mine.spin_locks = core::held_spin_locks(self);
    mine.cancel_lock_held = holds_cancel_lock(self);
    frame*& top = innermost_frame.of(self);
    mine.outer = top;
    top = &mine;
}

frame_scope::~frame_scope() {
    innermost_frame.of(self_) = mine_.outer;
    if (mine_.irp != nullptr) irp_tracker::of(self_).dereference(*mine_.irp);
}

bool is_on_stack(const frame& of, const void* depth, const void* object) {
    const std::less<> below;
    return below(depth, object) && below(object, &of);
}

frame* context_of(core::processor& self) {
    frame* top = innermost_frame.of(self);
    return top == nullptr || top->in_dpc != inside_dpc(self) ? nullptr : top;
}

void cancelled_on_insert(const IRP* irp) {
    frame* const context = context_of(core::this_processor());
    if (context != nullptr && context->irp != nullptr && context->irp->irp == irp)
        context->queue_completes = true;
}

} // namespace irpverbs::irp::verify
