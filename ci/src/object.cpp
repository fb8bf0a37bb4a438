#include "object.hpp"

#include "request.hpp"
#include "spin_guard.hpp"

#include <dispatch/detail/checks.hpp>

#include <algorithm>

namespace irpverbs::ci {

using dispatch::detail::point;
using dispatch::detail::sched_point;

namespace {

event_channel& channel_of(IO_CSQ* csq) {
    return *CONTAINING_RECORD(&waiting_line::of(csq), event_channel, line);
}

void remove(IO_CSQ*, IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
void complete_cancelled(IO_CSQ*, IRP* irp) { complete(irp, STATUS_CANCELLED, 0); }

// What an IRP that came to wait is told in place of being parked.
struct refusal {
    NTSTATUS otherwise;
    bool answered = false;
    IB_ASYNC_EVENT latched = IB_AE_NONE;
};

} // namespace

void event_set::push(IB_ASYNC_EVENT event) {
    const auto end = events_.begin() + count_;
    const auto place = std::find(events_.begin(), end, static_cast<UCHAR>(event));
    if (place == end)
        events_[count_++] = static_cast<UCHAR>(event);
    else
        std::rotate(place, place + 1, end);
}

IB_ASYNC_EVENT event_set::pop() {
    const auto first = static_cast<IB_ASYNC_EVENT>(events_[0]);
    std::copy(events_.begin() + 1, events_.begin() + count_, events_.begin());
    --count_;
    return first;
}

void waiting_line::prepare(object& its_owner, PIO_CSQ_INSERT_IRP_EX insert,
                           PIO_CSQ_PEEK_NEXT_IRP peek) {
    owner = &its_owner;
    InitializeListHead(&irps);
    IoCsqInitializeEx(&csq, insert, remove, peek, object::acquire, object::release,
                      complete_cancelled);
}

IRP* waiting_line::after(const IRP* irp) const {
    LIST_ENTRY* next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : irps.Flink;
    return next != &irps ? CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry) : nullptr;
}

void waiting_line::cancel_all() {
    while (IRP* irp = IoCsqRemoveNextIrp(&csq, nullptr))
        complete(irp, STATUS_CANCELLED, 0);
}

object::object(event_channel* channels, unsigned count)
    : channels_(channels), channel_count_(count) {
    InitializeListHead(&due_);
    for (unsigned i = 0; i < count; ++i)
        channels[i].line.prepare(*this, insert, peek);
}

bool object::enter() {
    sched_point(point::interlocked, this);
    ULONG_PTR seen = users_.load(std::memory_order_relaxed);
    do
        if ((seen & closing_bit) != 0) return false;
    while (!users_.compare_exchange_weak(seen, seen + one_user, std::memory_order_acq_rel));
    return true;
}

void object::leave() {
    sched_point(point::interlocked, this);
    if (users_.fetch_sub(one_user, std::memory_order_acq_rel) == (one_user | closing_bit))
        submit(closer_);
}

NTSTATUS object::wait(unsigned channel, IRP* irp, NTSTATUS otherwise) {
    refusal told{otherwise};
    const NTSTATUS status = IoCsqInsertIrpEx(&channels_[channel].line.csq, irp, nullptr, &told);
    if (NT_SUCCESS(status)) return STATUS_PENDING;
    return told.answered ? complete_event(irp, told.latched) : complete(irp, status, 0);
}

void object::signal(unsigned channel, IB_ASYNC_EVENT event) {
    const bool calls = listens(channel);
    IRP* waiter = IoCsqRemoveNextIrp(&channels_[channel].line.csq, calls ? nullptr : &event);
    if (waiter != nullptr) complete_event(waiter, event);
    if (calls) queue_call(channels_[channel], event);
}

void object::queue_call(event_channel& channel, IB_ASYNC_EVENT event) {
    {
        const spin_guard guard(lock_);
        if (channel.calls.empty()) InsertTailList(&due_, &channel.due);
        channel.calls.push(event);
        if (calling_) return;
        calling_ = true;
    }
    make_calls();
}

event_channel* object::next_call(IB_ASYNC_EVENT& event) {
    const spin_guard guard(lock_);
    if (closing() || IsListEmpty(&due_)) {
        calling_ = false;
        return nullptr;
    }
    event_channel* channel = CONTAINING_RECORD(due_.Flink, event_channel, due);
    event = channel->calls.pop();
    if (channel->calls.empty()) RemoveEntryList(&channel->due);
    return channel;
}

void object::make_calls() {
    const KIRQL before = KeRaiseIrqlToDpcLevel();
    IB_ASYNC_EVENT event = IB_AE_NONE;
    while (event_channel* channel = next_call(event))
        call_up(static_cast<unsigned>(channel - channels_), event);
    KeLowerIrql(before);
}

bool object::add_child() {
    const spin_guard guard(lock_);
    if (closing()) return false;
    ++children_;
    return true;
}

void object::drop_child() {
    const spin_guard guard(lock_);
    --children_;
}

NTSTATUS object::begin_close(IRP* irp) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_FILE_CLOSED;
    if (children_ != 0) return STATUS_DEVICE_BUSY;
    closer_ = irp;
    users_.fetch_or(closing_bit, std::memory_order_acq_rel);
    return STATUS_SUCCESS;
}

void object::cancel_waiting() {
    for (unsigned i = 0; i < channel_count_; ++i)
        channels_[i].line.cancel_all();
}

NTSTATUS object::close(IRP* irp) {
    if (const NTSTATUS status = begin_close(irp); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    cancel_waiting();
    // Nobody can come in any more: when this user is the only one, it stays so.
    if (users_.load(std::memory_order_acquire) == (one_user | closing_bit)) return submit(irp);
    IoMarkIrpPending(irp);
    leave();
    return STATUS_PENDING;
}

NTSTATUS object::insert(IO_CSQ* csq, IRP* irp, void* context) {
    event_channel& channel = channel_of(csq);
    auto& told = *static_cast<refusal*>(context);
    if (channel.line.owner->closing()) return STATUS_CANCELLED;
    if (!channel.latched.empty()) {
        told.latched = channel.latched.pop();
        told.answered = true;
        return STATUS_UNSUCCESSFUL;
    }
    if (!NT_SUCCESS(told.otherwise)) return told.otherwise;
    channel.line.park(irp);
    return STATUS_SUCCESS;
}

// At the end of the list an event that nobody takes is latched: under the same lock as the look at
// the list, or an IRP parked in between would wait for it.
IRP* object::peek(IO_CSQ* csq, IRP* irp, void* context) {
    event_channel& channel = channel_of(csq);
    if (IRP* next = channel.line.after(irp)) return next;
    if (context != nullptr) channel.latched.push(*static_cast<IB_ASYNC_EVENT*>(context));
    return nullptr;
}

void object::acquire(IO_CSQ* csq, KIRQL* level) {
    KeAcquireSpinLock(&waiting_line::of(csq).owner->lock_, level);
}

void object::release(IO_CSQ* csq, KIRQL level) {
    KeReleaseSpinLock(&waiting_line::of(csq).owner->lock_, level);
}

} // namespace irpverbs::ci
