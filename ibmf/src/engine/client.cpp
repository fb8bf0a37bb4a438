#include <engine/client_table.hpp>
#include <engine/port_context.hpp>

#include <dispatch/support/processor.hpp>

namespace irpverbs::ibmf {

client::client(port_context& its_port, const registration& wanted)
    : at(&its_port), type(wanted.info.ir_client_class), oui(wanted.oui),
      mapping(client_mapping_of(type)), flags(wanted.flags) {
    InitializeListHead(&messages);
    InitializeListHead(&receiving);
    InitializeListHead(&time_wait);
    InitializeListHead(&frames);
    InitializeListHead(&callback_queue_);
    InitializeListHead(&waiters_);
    drain_start_.container = this;
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
    const transaction_table::guard locked(*at);
    for (alternate_qp& each : qps)
        if (each.handle == named) found = &each;
    return found != nullptr;
}

alternate_qp* client::qp_of(const transaction& which) {
    if (which.qp == 0) return nullptr;
    for (alternate_qp& each : qps)
        if (each.key == which.qp) return &each;
    return nullptr;
}

void client::free(message& gone) {
    RemoveEntryList(&gone.client_entry);
    --counts.st_msgs_alloced;
    --at->counts.st_msgs_alloced;
    at->messages.free(gone);
}

// A callback that runs alone references its client, since it may unregister the client. For the
// queue of callbacks, its drain does.
void client::deliver(transaction_table::guard& locked, message& which) {
    which.busy = true;
    if (which.completion == completion_style::unsolicited) ++which.handler->unsolicited_queued;
    count(&ibmf_stats_t::st_callbacks_active);
    if (serializes_callbacks()) return enqueue(locked, which.completion_entry);
    intrusive_ptr_add_ref(this);
    locked.defer(which.start, start_concurrent);
}

void client::deliver_data(transaction_table::guard& locked, message& which) {
    if (std::exchange(which.data_due, true)) return;
    count(&ibmf_stats_t::st_callbacks_active);
    enqueue(locked, which.data_entry);
}

void client::start_concurrent(deferred& start) {
    message& which = *CONTAINING_RECORD(&start, message, start);
    ExInitializeWorkItem(
        &which.work, [](void* called) { call_alone(*static_cast<message*>(called)); }, &which);
    ExQueueWorkItem(&which.work, DelayedWorkQueue);
}

void client::enqueue(transaction_table::guard& locked, callback_entry& which) {
    InsertTailList(&callback_queue_, &which.entry);
    if (draining_) return;
    draining_ = true;
    intrusive_ptr_add_ref(this);
    locked.defer(drain_start_, start_draining);
}

void client::start_draining(deferred& start) {
    client& self = *static_cast<drain_start&>(start).container;
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
    running_call call;
    while (self->next_call(call))
        call.routine(self->handle, call.public_part, call.argument);
}

// Ends the call that has returned and begins the next one, under one acquisition of the lock.
// Returns false if the queue is empty.
bool client::next_call(running_call& call) {
    const transaction_table::guard locked(*at);
    if (call.routine != nullptr) end_call(call);
    while (!IsListEmpty(&callback_queue_)) {
        const callback_entry& next = callback_entry::of(RemoveHeadList(&callback_queue_));
        if (next.is_data) {
            begin_data_call(*next.container, call);
            return true;
        }
        if (begin_call(*next.container, call)) return true;
    }
    draining_ = false;
    return false;
}

// Called under the lock.
void client::callback_returned() {
    --counts.st_callbacks_active;
    --at->counts.st_callbacks_active;
    wake_waiters();
}

void client::wake_waiters() {
    for (LIST_ENTRY* each = waiters_.Flink; each != &waiters_; each = each->Flink)
        KeSetEvent(&CONTAINING_RECORD(each, waiter, entry)->woken, IO_NO_INCREMENT, FALSE);
}

// Drops a message without a callback. Called under the lock.
void client::drop(message& which) {
    --which.handler->unsolicited_queued;
    count(&ibmf_stats_t::st_no_callback);
    free(which);
    callback_returned();
}

// Called under the lock. Returns false if the handler was torn down since the message was queued.
bool client::begin_call(message& which, running_call& call) {
    receive_handler* const handler =
        which.completion == completion_style::unsolicited ? which.handler : nullptr;
    if (handler != nullptr && (handler->receive_callback == nullptr ||
                               which.receive_generation != handler->receive_generation)) {
        drop(which);
        return false;
    }
    if (handler != nullptr) --handler->unsolicited_queued;
    which.busy = false;
    call.routine = std::exchange(which.call, nullptr);
    call.public_part = &which.public_part;
    call.argument = which.argument;
    add_frame(call.frame, handler);
    return true;
}

// Called under the lock. The callback for the end of the message is behind it in the queue.
void client::begin_data_call(message& which, running_call& call) {
    which.data_due = false;
    call.routine = which.data_call;
    call.public_part = &which.public_part;
    call.argument = which.data_argument;
    add_frame(call.frame, nullptr);
}

// Called under the lock.
void client::end_call(running_call& call) {
    call.routine = nullptr;
    RemoveEntryList(&call.frame.client_entry);
    callback_returned();
}

void client::add_frame(callback_frame& frame, const receive_handler* handler) {
    frame.on = &dispatch::detail::this_processor();
    frame.handler = handler;
    InsertTailList(&frames, &frame.client_entry);
}

void client::call_alone(message& which) {
    const client_ref self(which.who.load(), false);
    running_call call;
    {
        const transaction_table::guard locked(*self->at);
        if (!self->begin_call(which, call)) return;
    }
    call.routine(self->handle, call.public_part, call.argument);
    const transaction_table::guard locked(*self->at);
    self->end_call(call);
}

void client::drop_unsolicited(receive_handler& handler) {
    LIST_ENTRY* next = nullptr;
    for (LIST_ENTRY* each = callback_queue_.Flink; each != &callback_queue_; each = next) {
        next = each->Flink;
        const callback_entry& entry = callback_entry::of(each);
        message& which = *entry.container;
        if (entry.is_data || which.completion != completion_style::unsolicited ||
            which.handler != &handler)
            continue;
        RemoveEntryList(each);
        drop(which);
    }
}

// A null `handler` stands for all receive handlers.
bool client::runs_on_other_processor(const receive_handler* handler) const {
    const auto* here = &dispatch::detail::this_processor();
    for (const LIST_ENTRY* each = frames.Flink; each != &frames; each = each->Flink) {
        const callback_frame& frame = *CONTAINING_RECORD(each, callback_frame, client_entry);
        if (frame.on != here && (handler == nullptr || frame.handler == handler)) return true;
    }
    return false;
}

template <class Predicate>
void client::await(const Predicate& quiet) {
    waiter mine;
    KeInitializeEvent(&mine.woken, SynchronizationEvent, FALSE);
    {
        const transaction_table::guard locked(*at);
        if (quiet()) return;
        InsertTailList(&waiters_, &mine.entry);
    }
    for (;;) {
        KeWaitForSingleObject(&mine.woken, Executive, KernelMode, FALSE, nullptr);
        const transaction_table::guard locked(*at);
        if (!quiet()) continue;
        RemoveEntryList(&mine.entry);
        return;
    }
}

void client::notify_offline() {
    if (event_call == nullptr) return;
    callback_frame frame{{}, &dispatch::detail::this_processor(), nullptr};
    {
        const transaction_table::guard locked(*at);
        if (!ready) return;
        InsertTailList(&frames, &frame.client_entry);
    }
    event_call(handle, event_argument, IBMF_CI_OFFLINE);
    const transaction_table::guard locked(*at);
    RemoveEntryList(&frame.client_entry);
    wake_waiters();
}

void client::await_callbacks() {
    await([&] { return !runs_on_other_processor(nullptr); });
}

void client::await_unsolicited(receive_handler& handler) {
    await([&] { return handler.unsolicited_queued == 0 && !runs_on_other_processor(&handler); });
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
