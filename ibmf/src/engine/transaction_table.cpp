#include <engine/transaction_table.hpp>

#include <utility>

namespace irpverbs::ibmf {

transaction_table::guard::~guard() noexcept(false) {
    release();
    if (first_irp_ != nullptr || first_ != nullptr) finish();
}

void transaction_table::guard::release() {
    dispatch::detail::processor* self = dispatch::detail::current;
    const bool dpcs_wait = level_ < DISPATCH_LEVEL && self != nullptr &&
                           self->dpcs.pending.load(std::memory_order_relaxed);
    if (dispatch::detail::instrumented() || self == nullptr || dpcs_wait ||
        !dispatch::detail::give_back_lock(*self, lock_)) [[unlikely]]
        return KeReleaseSpinLock(&lock_, level_);
    self->irql = level_;
}

void transaction_table::guard::finish() {
    while (first_irp_ != nullptr) {
        IRP* irp = CONTAINING_RECORD(first_irp_, IRP, Tail.Overlay.ListEntry);
        first_irp_ = first_irp_->Flink;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }
    while (first_ != nullptr) {
        deferred& each = *first_;
        first_ = each.next;
        each.run(each);
    }
}

transaction_table::~transaction_table() = default;

transaction* transaction_table::acquire() {
    transaction* fresh = slots_.acquire();
    if (fresh == nullptr || fresh->owner != nullptr) return fresh;
    fresh->owner = this;
    KeInitializeTimer(&fresh->timer);
    KeInitializeDpc(&fresh->dpc, timer_fired, fresh);
    return fresh;
}

// The timer is left as it is: when it comes it finds out what it came for. So a slot that is used
// again before then is given a time by a store.
void transaction_table::release(transaction& ended) {
    ended.due = never;
    slots_.release(ended);
}

bool transaction_table::park(IRP* irp, transaction& by) {
    by.irp = irp;
    irp->Tail.Overlay.DriverContext[0] = &by;
    IoMarkIrpPending(irp);
    IoSetCancelRoutine(irp, cancel);
    if (__atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) == 0) [[likely]]
        return true;
    return claim(by) == nullptr;
}

IRP* transaction_table::claim(transaction& by) {
    if (IoSetCancelRoutine(by.irp, nullptr) == nullptr) return nullptr;
    return std::exchange(by.irp, nullptr);
}

void transaction_table::cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    auto& which = *static_cast<transaction*>(irp->Tail.Overlay.DriverContext[0]);
    transaction_table& self = *which.owner;
    guard under(self);
    which.irp = nullptr;
    self.cancelled(under, which, irp);
}

void transaction_table::set_due(transaction& which, ticks due) {
    which.due = due;
    if (due < which.armed) arm(which);
}

void transaction_table::arm(transaction& which) {
    const ticks now = now_exactly();
    LARGE_INTEGER distance;
    distance.QuadPart = which.due > now ? -static_cast<LONGLONG>(which.due - now) : -1;
    which.armed = which.due;
    KeSetTimer(&which.timer, distance, &which.dpc);
}

void transaction_table::timer_fired(KDPC*, void* context, void*, void*) {
    auto& which = *static_cast<transaction*>(context);
    transaction_table& self = *which.owner;
    guard under(self);
    const ticks now = now_exactly();
    which.armed = never;
    if (which.due == never) return;
    if (which.due > now) return self.arm(which);
    which.due = never;
    self.expired(under, which, now);
}

void transaction_table::stop_timers() {
    slots_.for_each([](transaction& each) { KeCancelTimer(&each.timer); });
    KeFlushQueuedDpcs();
}

} // namespace irpverbs::ibmf
