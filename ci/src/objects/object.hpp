// The base of channel adapters and the objects below them: its references, its events, and a
// close that waits for both to end.
#pragma once

#include "verbs/request.hpp"

#include <dispatch/support/processor.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <atomic>

namespace irpverbs::ci {

class object;
class turn_queue;

/// Event types, each at most once, in the order of their last occurrence.
class pending_events {
public:
    bool empty() const { return count_ == 0; }
    void push(IB_ASYNC_EVENT event);
    IB_ASYNC_EVENT pop();

private:
    // One channel has at most 11 types.
    std::array<UCHAR, 11> events_;
    UCHAR count_ = 0;
};

/// The object that HCA_CA, HCA_CQ, ... have as Reserved.
inline object& object_in(void* reserved) { return *static_cast<object*>(reserved); }

/// One source of events of an object: the IRPs that wait for an event, and the events that found no
/// IRP. The object's lock guards every member. The channel is in the object's list while up-calls
/// remain.
struct event_channel : boost::intrusive::list_base_hook<> {
    LIST_ENTRY waiting{};
    pending_events latched;
    pending_events calls;     // remaining up-calls
    bool has_up_call = false; // the client has up-calls
};

/// The part of an event's notification that runs after the lock is released.
struct notification {
    object* of;
    IRP* waiter; // null: no IRP waited
    bool calls;  // up-calls are due; deliver() makes them and drops the reference

    void deliver(IB_ASYNC_EVENT event) const;
};

/// The objects that an object uses besides its parent. Each counts it as a child.
struct used_objects {
    std::array<object*, 3> all{}; // null: none

    /// A failure changes nothing.
    NTSTATUS add_child() const;
    void remove_child() const;
};

class object {
public:
    object(const object&) = delete;
    object& operator=(const object&) = delete;
    virtual ~object() = default;

    /// Adds a reference. Returns false, without one, if the object is being closed.
    bool try_reference() {
        dispatch::detail::sched_point(dispatch::detail::point::interlocked, this);
        ULONG_PTR seen = references_.load(std::memory_order_relaxed);
        do
            if ((seen & closing_bit) != 0) return false;
        while (!references_.compare_exchange_weak(seen, seen + one_reference,
                                                  std::memory_order_acq_rel));
        return true;
    }
    void dereference() {
        dispatch::detail::sched_point(dispatch::detail::point::interlocked, this);
        if (references_.fetch_sub(one_reference, std::memory_order_acq_rel) ==
            (one_reference | closing_bit))
            submit(close_irp_);
    }
    bool closing() const {
        return (references_.load(std::memory_order_acquire) & closing_bit) != 0;
    }

    /// Completes the IRP with a latched event of the channel, or pends it until the next one.
    /// Without a latched event, a failure in `otherwise` completes it with that status.
    NTSTATUS wait(unsigned channel, IRP* irp, NTSTATUS otherwise);

    /// Delivers an event. The caller holds a reference.
    void signal(unsigned channel, IB_ASYNC_EVENT event);
    /// Prepares the notification of an event, under the object's lock; notification::deliver
    /// delivers it. The caller holds a reference, or the object is not being closed.
    notification prepare_notification(unsigned channel, IB_ASYNC_EVENT event);

    /// Prefetches the IRP that waits for the channel's event.
    void prefetch_waiter(unsigned channel) const;

    /// Makes the up-calls that were deferred since the object was created. The caller holds a
    /// reference.
    void start_up_calls() { make_up_calls(); }

    /// Completes the IRP STATUS_DEVICE_BUSY if there are children; otherwise ends the object and
    /// completes the IRP, at once or with the last dereference. The caller holds a reference for
    /// the IRP.
    NTSTATUS close(IRP* irp);

    /// Objects below it, or that use it, exist.
    bool has_children();

    /// The queue of its verbs that execute one at a time; null: it has no such verb.
    virtual turn_queue* turns() { return nullptr; }
    /// A verb that had the turn has executed, and is about to complete with the status.
    virtual void on_changed(const parameters&, NTSTATUS) {}

    /// The operation that was to end the object has refused: it is as before `close`.
    void reopen();
    /// True of a type of objects whose end an operation may refuse.
    static constexpr bool may_stay = false;

    /// Called before the verb that creates the object completes: events reach the object from now
    /// on.
    void begin_events() {}

    /// The objects that one with these parameters, or this one, uses.
    static used_objects used_by(const create_parameters&) { return {}; }
    static used_objects used() { return {}; }

    /// STATUS_FILE_CLOSED: the object is being closed.
    NTSTATUS add_child();
    void remove_child();

protected:
    /// The lock may be shared with other objects.
    object(KSPIN_LOCK& lock, event_channel* channels, unsigned count);
    /// Completes all waiting IRPs STATUS_CANCELLED, because the object is being closed.
    virtual void cancel_waiting();
    void cancel_all(LIST_ENTRY& waiting);

    KSPIN_LOCK& lock_;

private:
    friend notification;
    static constexpr ULONG_PTR closing_bit = 1;
    static constexpr ULONG_PTR one_reference = 2;

    virtual void call_up(unsigned channel, IB_ASYNC_EVENT event) = 0;

    NTSTATUS remove_latched_or_pend(event_channel& from, IRP* irp, NTSTATUS otherwise,
                                    IB_ASYNC_EVENT& event);
    NTSTATUS begin_close(IRP* irp);
    bool queue_up_call(event_channel& channel, IB_ASYNC_EVENT event);
    event_channel* next_up_call(IB_ASYNC_EVENT& event);
    void make_up_calls();

    std::atomic<ULONG_PTR> references_{one_reference}; // references * 2; odd: closing
    event_channel* channels_;
    unsigned channel_count_;
    LONG children_ = 0;      // guarded by lock_
    bool calling_up_ = true; // guarded by lock_: a thread makes up-calls, or they are deferred
    boost::intrusive::list<event_channel, boost::intrusive::constant_time_size<false>>
        due_; // guarded by lock_
    IRP* close_irp_ = nullptr;
};

} // namespace irpverbs::ci
