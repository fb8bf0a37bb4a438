#include "object.hpp"

#include "parked_irps.hpp"

#include <dispatch/detail/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

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

object::object(KSPIN_LOCK& lock, event_channel* channels, unsigned count)
    : lock_(lock), channels_(channels), channel_count_(count) {
    InitializeListHead(&due_);
    for (unsigned i = 0; i < count; ++i)
        InitializeListHead(&channels[i].waiting);
}

// STATUS_PENDING: the IRP is pended. STATUS_SUCCESS: `event` was latched. Other statuses: the IRP
// completes with them.
NTSTATUS object::take_latched_or_park(event_channel& from, IRP* irp, NTSTATUS otherwise,
                                      IB_ASYNC_EVENT& event) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_CANCELLED;
    if (!from.latched.empty()) {
        event = from.latched.pop();
        return STATUS_SUCCESS;
    }
    if (!NT_SUCCESS(otherwise)) return otherwise;
    return park(from.waiting, lock_, irp) ? STATUS_PENDING : STATUS_CANCELLED;
}

NTSTATUS object::wait(unsigned channel, IRP* irp, NTSTATUS otherwise) {
    IB_ASYNC_EVENT event = IB_AE_NONE;
    const NTSTATUS status = take_latched_or_park(channels_[channel], irp, otherwise, event);
    if (status == STATUS_PENDING) return status;
    if (!NT_SUCCESS(status)) return complete(irp, status, 0);
    complete_event(irp, event);
    leave();
    return status;
}

// On an empty list this prefetches the list head, which is harmless.
void object::fetch_waiter(unsigned channel) const {
    constexpr std::size_t cache_line = 64;
    const LIST_ENTRY* first = channels_[channel].waiting.Flink;
    const auto* irp =
        reinterpret_cast<const char*>(CONTAINING_RECORD(first, IRP, Tail.Overlay.ListEntry));
    for (std::size_t at = 0; at < IoSizeOfIrp(1); at += cache_line)
        __builtin_prefetch(irp + at, 1);
}

delivery object::note(unsigned channel, IB_ASYNC_EVENT event) {
    event_channel& its = channels_[channel];
    delivery due{this, take_parked(its.waiting), false};
    if (its.listened)
        due.calls = queue_call(its, event);
    else if (due.waiter == nullptr)
        its.latched.push(event);
    if (due.calls) users_.fetch_add(one_user, std::memory_order_acq_rel);
    return due;
}

void delivery::make(IB_ASYNC_EVENT event) const {
    if (waiter != nullptr) {
        complete_event(waiter, event);
        of->leave();
    }
    if (!calls) return;
    of->make_calls();
    of->leave();
}

void object::signal(unsigned channel, IB_ASYNC_EVENT event) {
    delivery due;
    {
        const spin_guard guard(lock_);
        due = note(channel, event);
    }
    due.make(event);
}

// Returns true if no thread makes up-calls, so that the caller does.
bool object::queue_call(event_channel& channel, IB_ASYNC_EVENT event) {
    if (channel.calls.empty()) InsertTailList(&due_, &channel.due);
    channel.calls.push(event);
    return !std::exchange(calling_, true);
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

NTSTATUS object::add_child() {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_FILE_CLOSED;
    ++children_;
    return STATUS_SUCCESS;
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

void object::cancel_all(LIST_ENTRY& waiting) {
    const auto next = [&] {
        const spin_guard guard(lock_);
        return take_parked(waiting);
    };
    while (IRP* irp = next())
        complete(irp, STATUS_CANCELLED, 0);
}

void object::cancel_waiting() {
    for (unsigned i = 0; i < channel_count_; ++i)
        cancel_all(channels_[i].waiting);
}

NTSTATUS object::close(IRP* irp) {
    if (const NTSTATUS status = begin_close(irp); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    cancel_waiting();
    // No user can enter any more: if this user is the only one, it remains so.
    if (users_.load(std::memory_order_acquire) == (one_user | closing_bit)) return submit(irp);
    IoMarkIrpPending(irp);
    leave();
    return STATUS_PENDING;
}

} // namespace irpverbs::ci
