#include <engine/transaction_table.hpp>

namespace irpverbs::ibmf {

namespace {

// `function` may free the element.
template <class Link, class Function>
void for_each_of(Link* last, Link* Link::*next, const Function& function) {
    Link* each = last->*next;
    while (each != last)
        function(*std::exchange(each, each->*next));
    function(*last);
}

void complete_one(LIST_ENTRY& entry) {
    IoCompleteRequest(CONTAINING_RECORD(&entry, IRP, Tail.Overlay.ListEntry), IO_NO_INCREMENT);
}

} // namespace

void transaction_table::guard::complete_in_order(LIST_ENTRY* last) {
    for_each_of(last, &LIST_ENTRY::Flink, complete_one);
}

void transaction_table::guard::run_deferred(deferred* last) {
    for_each_of(last, &deferred::next, [](deferred& each) { each.run(each); });
}

transaction_table::~transaction_table() = default;

void transaction_table::prepare(transaction& fresh) {
    fresh.owner = this;
    KeInitializeTimer(&fresh.timer);
    KeInitializeDpc(&fresh.dpc, timer_fired, &fresh);
}

void transaction_table::cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    auto& which = *static_cast<transaction*>(irp->Tail.Overlay.DriverContext[0]);
    transaction_table& self = *which.owner;
    guard locked(self);
    which.irp = nullptr;
    self.cancelled(locked, which, irp);
}

void transaction_table::arm(transaction& which) {
    const ticks now = exact_time();
    LARGE_INTEGER distance;
    distance.QuadPart = which.due > now ? -static_cast<LONGLONG>(which.due - now) : -1;
    which.armed = which.due;
    KeSetTimer(&which.timer, distance, &which.dpc);
}

void transaction_table::timer_fired(KDPC*, void* context, void*, void*) {
    auto& which = *static_cast<transaction*>(context);
    transaction_table& self = *which.owner;
    guard locked(self);
    const ticks now = exact_time();
    which.armed = never;
    if (which.due == never) return;
    if (which.due > now) return self.arm(which);
    which.due = never;
    self.expired(locked, which, now);
}

void transaction_table::stop_timers() {
    slots_.for_each([](transaction& each) { KeCancelTimer(&each.timer); });
    KeFlushQueuedDpcs();
}

} // namespace irpverbs::ibmf
