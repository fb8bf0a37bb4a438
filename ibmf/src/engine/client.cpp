#include <engine/port.hpp>
#include <engine/registry.hpp>

#include <dispatch/detail/processor.hpp>

namespace irpverbs::ibmf {

client::client(port& its_port, const registration& wanted)
    : at(&its_port), type(wanted.info.ir_client_class), oui(wanted.oui), plan(plan_of(type)),
      flags(wanted.flags) {
    InitializeListHead(&messages);
    InitializeListHead(&receiving);
    InitializeListHead(&lingering);
    InitializeListHead(&qps);
    InitializeListHead(&frames);
    InitializeListHead(&line_);
    InitializeListHead(&waiters_);
    drain_start_.whole = this;
    KeInitializeDpc(&drain_dpc_, drain_by_dpc, this);
}

client::~client() = default;

agent* client::agent_of(std::uint8_t mgmt_class) {
    for (agent& each : agents)
        if (each.mgmt_class == mgmt_class) return &each;
    return nullptr;
}

bool client::find_qp(ibmf_qp_handle_t named, qp_ref& found) {
    if (named == IBMF_QP_HANDLE_DEFAULT) return !universal();
    const transaction_table::guard under(*at);
    for (LIST_ENTRY* each = qps.Flink; each != &qps; each = each->Flink)
        if (alternate_qp& which = alternate_qp::client_link::of(each); which.handle == named)
            found = &which;
    return found != nullptr;
}

alternate_qp* client::qp_of(const transaction& which) {
    if (which.qp == 0) return nullptr;
    for (LIST_ENTRY* each = qps.Flink; each != &qps; each = each->Flink)
        if (alternate_qp& one = alternate_qp::client_link::of(each); one.key == which.qp)
            return &one;
    return nullptr;
}

void client::free(message& gone) {
    RemoveEntryList(&gone.of_client);
    --counts.st_msgs_alloced;
    --at->counts.st_msgs_alloced;
    at->messages.free(gone);
}

// A pending callback references its client, since it may unregister the client.
void client::deliver(transaction_table::guard& under, message& which) {
    which.busy = true;
    if (which.how == told_by::unasked) ++which.heard_by->unasked_due;
    intrusive_ptr_add_ref(this);
    count(&ibmf_stats_t::st_callbacks_active);
    if (one_by_one())
        queue(under, which.in_line);
    else
        under.later(which.start, start_alone);
}

void client::deliver_data(transaction_table::guard& under, message& which) {
    if (std::exchange(which.data_due, true)) return;
    intrusive_ptr_add_ref(this);
    count(&ibmf_stats_t::st_callbacks_active);
    queue(under, which.data_in_line);
}

void client::start_alone(deferred& start) {
    message& which = *CONTAINING_RECORD(&start, message, start);
    ExInitializeWorkItem(
        &which.work, [](void* called) { call(*static_cast<message*>(called)); }, &which);
    ExQueueWorkItem(&which.work, DelayedWorkQueue);
}

void client::queue(transaction_table::guard& under, line_place& which) {
    InsertTailList(&line_, &which.entry);
    if (draining_) return;
    draining_ = true;
    intrusive_ptr_add_ref(this);
    under.later(drain_start_, start_draining);
}

void client::start_draining(deferred& start) {
    client& self = *static_cast<drain_start&>(start).whole;
    if ((self.flags & IBMF_REG_FLAG_NO_OFFLOAD) != 0) {
        KeInsertQueueDpc(&self.drain_dpc_, nullptr, nullptr);
    } else {
        ExInitializeWorkItem(&self.drain_work_, drain, &self);
        ExQueueWorkItem(&self.drain_work_, DelayedWorkQueue);
    }
}

void client::drain_by_dpc(KDPC*, void* self, void*, void*) { drain(self); }

void client::drain(void* context) {
    const client_ref self(static_cast<client*>(context), false);
    for (;;) {
        line_place* next = nullptr;
        {
            const transaction_table::guard under(*self->at);
            if (IsListEmpty(&self->line_)) {
                self->draining_ = false;
                return;
            }
            next = &line_place::of(RemoveHeadList(&self->line_));
        }
        next->of_data ? call_for_data(*next->whole) : call(*next->whole);
    }
}

// Called under the lock.
void client::called() {
    --counts.st_callbacks_active;
    --at->counts.st_callbacks_active;
    changed();
}

void client::changed() {
    for (LIST_ENTRY* each = waiters_.Flink; each != &waiters_; each = each->Flink)
        KeSetEvent(&CONTAINING_RECORD(each, waiter, entry)->woken, IO_NO_INCREMENT, FALSE);
}

// Drops a message without a callback. Called under the lock. The caller releases the message's
// reference to the client.
void client::drop(message& which) {
    --which.heard_by->unasked_due;
    count(&ibmf_stats_t::st_no_callback);
    free(which);
    called();
}

void client::call(message& which) {
    const client_ref self(which.who.load(), false);
    listener* const ear = which.how == told_by::unasked ? which.heard_by : nullptr;
    callback_frame frame{{}, &dispatch::detail::this_processor(), ear};
    ibmf_msg_cb_t const routine = which.call;
    void* const argument = which.argument;
    {
        const transaction_table::guard under(*self->at);
        if (ear != nullptr && (ear->unasked == nullptr || which.set_up != ear->set_ups))
            return self->drop(which); // torn down since the message was queued
        if (ear != nullptr) --ear->unasked_due;
        which.busy = false;
        which.call = nullptr;
        InsertTailList(&self->frames, &frame.of_client);
    }
    routine(self->handle, &which.shown, argument);
    const transaction_table::guard under(*self->at);
    RemoveEntryList(&frame.of_client);
    self->called();
}

// The callback for the end of the message is behind it in the queue.
void client::call_for_data(message& which) {
    const client_ref self(which.who.load(), false);
    callback_frame frame{{}, &dispatch::detail::this_processor(), nullptr};
    {
        const transaction_table::guard under(*self->at);
        which.data_due = false;
        InsertTailList(&self->frames, &frame.of_client);
    }
    which.data_call(self->handle, &which.shown, which.data_argument);
    const transaction_table::guard under(*self->at);
    RemoveEntryList(&frame.of_client);
    self->called();
}

void client::drop_unasked(listener& of) {
    LIST_ENTRY* next = nullptr;
    for (LIST_ENTRY* each = line_.Flink; each != &line_; each = next) {
        next = each->Flink;
        const line_place& place = line_place::of(each);
        message& which = *place.whole;
        if (place.of_data || which.how != told_by::unasked || which.heard_by != &of) continue;
        RemoveEntryList(each);
        drop(which);
        intrusive_ptr_release(this); // the caller has another reference
    }
}

// A null `of` stands for all listeners.
bool client::runs_elsewhere(const listener* of) const {
    const auto* here = &dispatch::detail::this_processor();
    for (const LIST_ENTRY* each = frames.Flink; each != &frames; each = each->Flink) {
        const callback_frame& frame = *CONTAINING_RECORD(each, callback_frame, of_client);
        if (frame.on != here && (of == nullptr || frame.of == of)) return true;
    }
    return false;
}

template <class Predicate>
void client::await(const Predicate& quiet) {
    waiter mine;
    KeInitializeEvent(&mine.woken, SynchronizationEvent, FALSE);
    {
        const transaction_table::guard under(*at);
        if (quiet()) return;
        InsertTailList(&waiters_, &mine.entry);
    }
    for (;;) {
        KeWaitForSingleObject(&mine.woken, Executive, KernelMode, FALSE, nullptr);
        const transaction_table::guard under(*at);
        if (!quiet()) continue;
        RemoveEntryList(&mine.entry);
        return;
    }
}

void client::tell_offline() {
    if (event_call == nullptr) return;
    callback_frame frame{{}, &dispatch::detail::this_processor(), nullptr};
    {
        const transaction_table::guard under(*at);
        if (!ready) return;
        InsertTailList(&frames, &frame.of_client);
    }
    event_call(handle, event_argument, IBMF_CI_OFFLINE);
    const transaction_table::guard under(*at);
    RemoveEntryList(&frame.of_client);
    changed();
}

void client::await_callbacks() {
    await([&] { return !runs_elsewhere(nullptr); });
}

void client::await_unasked(listener& of) {
    await([&] { return of.unasked_due == 0 && !runs_elsewhere(&of); });
}

void client::await_sends(const alternate_qp& from) {
    await([&] { return from.sends == 0; });
}

void client::await_transactions() {
    await([&] { return !at->has_transactions(*this); });
}

void client::await_sends() {
    await([&] { return counts.st_sends_active == 0; });
}

} // namespace irpverbs::ibmf
