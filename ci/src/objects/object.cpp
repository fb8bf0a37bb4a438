#include "object.hpp"

#include "pended_irps.hpp"
#include "turn_queue.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

void pending_events::push(IB_ASYNC_EVENT event) {
    const auto end = events_.begin() + count_;
    const auto place = std::find(events_.begin(), end, static_cast<UCHAR>(event));
    if (place == end)
        events_[count_++] = static_cast<UCHAR>(event);
    else
        std::rotate(place, place + 1, end);
}

IB_ASYNC_EVENT pending_events::pop() {
    const auto first = static_cast<IB_ASYNC_EVENT>(events_[0]);
    std::copy(events_.begin() + 1, events_.begin() + count_, events_.begin());
    --count_;
    return first;
}

object::object(KSPIN_LOCK& lock, event_channel* channels, unsigned count)
    : lock_(lock), channels_(channels), channel_count_(count) {
    for (unsigned i = 0; i < count; ++i)
        InitializeListHead(&channels[i].waiting);
}

// STATUS_PENDING: the IRP is pended. STATUS_SUCCESS: `event` was latched. Other statuses: the IRP
// completes with them.
NTSTATUS object::remove_latched_or_pend(event_channel& from, IRP* irp, NTSTATUS otherwise,
                                        IB_ASYNC_EVENT& event) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_CANCELLED;
    if (!from.latched.empty()) {
        event = from.latched.pop();
        return STATUS_SUCCESS;
    }
    if (!NT_SUCCESS(otherwise)) return otherwise;
    return pend(from.waiting, lock_, irp) ? STATUS_PENDING : STATUS_CANCELLED;
}

NTSTATUS object::wait(unsigned channel, IRP* irp, NTSTATUS otherwise) {
    IB_ASYNC_EVENT event = IB_AE_NONE;
    const NTSTATUS status = remove_latched_or_pend(channels_[channel], irp, otherwise, event);
    if (status == STATUS_PENDING) return status;
    if (!NT_SUCCESS(status)) return complete(irp, status, 0);
    complete_event(irp, event);
    dereference();
    return status;
}

// On an empty list this prefetches the list head, which is harmless.
void object::prefetch_waiter(unsigned channel) const {
    constexpr std::size_t cache_line = 64;
    const LIST_ENTRY* first = channels_[channel].waiting.Flink;
    const auto* irp =
        reinterpret_cast<const char*>(CONTAINING_RECORD(first, IRP, Tail.Overlay.ListEntry));
    for (std::size_t at = 0; at < IoSizeOfIrp(1); at += cache_line)
        __builtin_prefetch(irp + at, 1);
}

notification object::prepare_notification(unsigned channel, IB_ASYNC_EVENT event) {
    event_channel& its = channels_[channel];
    notification due{this, remove_pended(its.waiting), false};
    if (its.has_up_call)
        due.calls = queue_up_call(its, event);
    else if (due.waiter == nullptr)
        its.latched.push(event);
    if (due.calls) references_.fetch_add(one_reference, std::memory_order_acq_rel);
    return due;
}

void notification::deliver(IB_ASYNC_EVENT event) const {
    if (waiter != nullptr) {
        complete_event(waiter, event);
        of->dereference();
    }
    if (!calls) return;
    of->make_up_calls();
    of->dereference();
}

void object::signal(unsigned channel, IB_ASYNC_EVENT event) {
    notification due;
    {
        const spin_guard guard(lock_);
        due = prepare_notification(channel, event);
    }
    due.deliver(event);
}

// Returns true if no thread makes up-calls, so that the caller does.
bool object::queue_up_call(event_channel& channel, IB_ASYNC_EVENT event) {
    if (channel.calls.empty()) due_.push_back(channel);
    channel.calls.push(event);
    return !std::exchange(calling_up_, true);
}

event_channel* object::next_up_call(IB_ASYNC_EVENT& event) {
    const spin_guard guard(lock_);
    if (closing() || due_.empty()) {
        calling_up_ = false;
        return nullptr;
    }
    event_channel& channel = due_.front();
    event = channel.calls.pop();
    if (channel.calls.empty()) due_.pop_front();
    return &channel;
}

void object::make_up_calls() {
    const KIRQL before = KeRaiseIrqlToDpcLevel();
    IB_ASYNC_EVENT event = IB_AE_NONE;
    while (event_channel* channel = next_up_call(event))
        call_up(static_cast<unsigned>(channel - channels_), event);
    KeLowerIrql(before);
}

// While an object is being closed it receives no reference.
void object::reopen() {
    const spin_guard guard(lock_);
    close_irp_ = nullptr;
    references_.store(0, std::memory_order_release);
}

NTSTATUS object::add_child() {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_FILE_CLOSED;
    ++children_;
    return STATUS_SUCCESS;
}

void object::remove_child() {
    const spin_guard guard(lock_);
    --children_;
}

bool object::has_children() {
    const spin_guard guard(lock_);
    return children_ != 0;
}

NTSTATUS used_objects::add_child() const {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == nullptr || NT_SUCCESS(all[i]->add_child())) continue;
        used_objects before{*this};
        std::fill(before.all.begin() + static_cast<std::ptrdiff_t>(i), before.all.end(), nullptr);
        before.remove_child();
        return STATUS_FILE_CLOSED;
    }
    return STATUS_SUCCESS;
}

void used_objects::remove_child() const {
    for (object* each : all)
        if (each != nullptr) each->remove_child();
}

NTSTATUS object::begin_close(IRP* irp) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_FILE_CLOSED;
    if (children_ != 0) return STATUS_DEVICE_BUSY;
    close_irp_ = irp;
    references_.fetch_or(closing_bit, std::memory_order_acq_rel);
    return STATUS_SUCCESS;
}

void object::cancel_all(LIST_ENTRY& waiting) {
    const auto next = [&] {
        const spin_guard guard(lock_);
        return remove_pended(waiting);
    };
    while (IRP* irp = next())
        complete(irp, STATUS_CANCELLED, 0);
}

void object::cancel_waiting() {
    for (unsigned i = 0; i < channel_count_; ++i)
        cancel_all(channels_[i].waiting);
    turn_queue* const queue = turns();
    while (IRP* irp = queue != nullptr ? queue->remove_waiting() : nullptr)
        complete(irp, STATUS_CANCELLED, 0);
}

NTSTATUS object::close(IRP* irp) {
    if (const NTSTATUS status = begin_close(irp); !NT_SUCCESS(status))
        return complete(irp, status, 0);
    cancel_waiting();
    // No reference is added any more: if this is the only one, it remains so.
    if (references_.load(std::memory_order_acquire) == (one_reference | closing_bit))
        return submit(irp);
    IoMarkIrpPending(irp);
    dereference();
    return STATUS_PENDING;
}

} // namespace irpverbs::ci
