#include <engine/transaction_table.hpp>

#include <algorithm>

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

void set(shared_timer& which, ticks due) {
    const ticks now = exact_time();
    LARGE_INTEGER distance;
    distance.QuadPart = due > now ? -static_cast<LONGLONG>(due - now) : -1;
    which.armed = due;
    KeSetTimer(&which.timer, distance, &which.dpc);
}

} // namespace

void transaction_table::guard::complete_in_order(LIST_ENTRY* last) {
    for_each_of(last, &LIST_ENTRY::Flink, complete_one);
}

void transaction_table::guard::run_deferred(deferred* last) {
    for_each_of(last, &deferred::next, [](deferred& each) { each.run(each); });
}

transaction_table::~transaction_table() = default;

void transaction_table::prepare(transaction& fresh, shared_timer& timer) {
    fresh.timer = &timer;
    if (timer.count++ != 0) return;
    timer.owner = this;
    timer.first = &fresh;
    KeInitializeTimer(&timer.timer);
    KeInitializeDpc(&timer.dpc, timer_fired, &timer);
}

void transaction_table::cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    auto& which = *static_cast<transaction*>(irp->Tail.Overlay.DriverContext[0]);
    transaction_table& self = *which.timer->owner;
    guard locked(self);
    which.irp = nullptr;
    self.cancelled(locked, which, irp);
}

void transaction_table::arm(transaction& which) {
    if (which.due < which.timer->armed) set(*which.timer, which.due);
    which.armed = which.timer->armed;
}

void transaction_table::timer_fired(KDPC*, void* context, void*, void*) {
    auto& timer = *static_cast<shared_timer*>(context);
    transaction_table& self = *timer.owner;
    guard locked(self);
    const ticks now = exact_time();
    timer.armed = 0; // so that no new time sets it
    const auto each_slot = [&](const auto& function) {
        for (std::uint32_t i = 0; i < timer.count; ++i)
            function(timer.first[i]);
    };
    each_slot([&](transaction& each) {
        if (each.due > now) return;
        each.due = never;
        self.expired(locked, each, now);
    });
    ticks next = never;
    each_slot([&](const transaction& each) { next = std::min(next, each.due); });
    timer.armed = never;
    if (next != never) set(timer, next);
    each_slot([&](transaction& each) { each.armed = timer.armed; });
}

void transaction_table::stop_timers() {
    slots_.for_each([](transaction& each) { KeCancelTimer(&each.timer->timer); });
    KeFlushQueuedDpcs();
}

} // namespace irpverbs::ibmf
