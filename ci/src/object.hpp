// The base of channel adapters, completion queues and agents: users, events, and a close that waits
// until both have run out.
#pragma once

#include "request.hpp"

#include <dispatch/detail/processor.hpp>

#include <array>
#include <atomic>

namespace irpverbs::ci {

class object;

/// Event types, each at most once, in the order of their last occurrence.
class event_set {
public:
    bool empty() const { return count_ == 0; }
    void push(IB_ASYNC_EVENT event);
    IB_ASYNC_EVENT pop();

private:
    // As many as one channel has types of.
    std::array<UCHAR, 11> events_;
    UCHAR count_ = 0;
};

/// The object that HCA_CA, HCA_CQ and HCA_MAD_AGENT have as Reserved.
inline object& object_in(void* reserved) { return *static_cast<object*>(reserved); }

/// One source of events of an object: the IRPs that wait for it, and what came when none did. All
/// guarded by the object's lock.
struct event_channel {
    LIST_ENTRY waiting;
    LIST_ENTRY due; // in the object's list while up-calls are left to make
    event_set latched;
    event_set calls;       // up-calls left to make
    bool listened = false; // there are up-calls
};

/// The rest of an event's work, once the lock is released.
struct delivery {
    object* of;
    IRP* waiter; // null: none waited
    bool calls;  // up-calls are to be made, by a user who leaves then

    void make(IB_ASYNC_EVENT event) const;
};

class object {
public:
    object(const object&) = delete;
    object& operator=(const object&) = delete;
    virtual ~object() = default;

    /// A user keeps the object from going away. False: it is being closed.
    bool enter() {
        dispatch::detail::sched_point(dispatch::detail::point::interlocked, this);
        ULONG_PTR seen = users_.load(std::memory_order_relaxed);
        do
            if ((seen & closing_bit) != 0) return false;
        while (!users_.compare_exchange_weak(seen, seen + one_user, std::memory_order_acq_rel));
        return true;
    }
    void leave() {
        dispatch::detail::sched_point(dispatch::detail::point::interlocked, this);
        if (users_.fetch_sub(one_user, std::memory_order_acq_rel) == (one_user | closing_bit))
            submit(closer_);
    }
    bool closing() const { return (users_.load(std::memory_order_acquire) & closing_bit) != 0; }

    /// Parks the IRP until the channel's next event, or completes it with one that is latched. When
    /// nothing is latched and `otherwise` is a failure, completes it with that.
    NTSTATUS wait(unsigned channel, IRP* irp, NTSTATUS otherwise);

    /// An event happened. The caller is a user.
    void signal(unsigned channel, IB_ASYNC_EVENT event);
    /// The same in two steps: this one under the object's lock, the other is the delivery. The
    /// caller is a user, or the object is not being closed.
    delivery note(unsigned channel, IB_ASYNC_EVENT event);

    /// Asks for the memory of the IRP that waits for the channel's event, ahead of its use.
    void fetch_waiter(unsigned channel) const;

    /// Makes up-calls held back since the object was made. The caller is a user.
    void start_calling() { make_calls(); }

    /// STATUS_DEVICE_BUSY when there are children; otherwise completes the IRP, now or when the
    /// last user has left. The caller is a user, and the IRP its carrier.
    NTSTATUS close(IRP* irp);

    /// Called before the verb that creates the object completes: from now on events reach it.
    void begin_events() {}

    /// STATUS_FILE_CLOSED: it is being closed.
    NTSTATUS add_child();
    void drop_child();

protected:
    /// The lock may be shared with other objects.
    object(KSPIN_LOCK& lock, event_channel* channels, unsigned count);
    /// Completes all that wait, STATUS_CANCELLED: it is being closed.
    virtual void cancel_waiting();
    void cancel_all(LIST_ENTRY& waiting);

    KSPIN_LOCK& lock_;

private:
    friend delivery;
    static constexpr ULONG_PTR closing_bit = 1;
    static constexpr ULONG_PTR one_user = 2;

    virtual void call_up(unsigned channel, IB_ASYNC_EVENT event) = 0;

    NTSTATUS take_latched_or_park(event_channel& from, IRP* irp, NTSTATUS otherwise,
                                  IB_ASYNC_EVENT& event);
    NTSTATUS begin_close(IRP* irp);
    bool queue_call(event_channel& channel, IB_ASYNC_EVENT event);
    event_channel* next_call(IB_ASYNC_EVENT& event);
    void make_calls();

    std::atomic<ULONG_PTR> users_{one_user}; // * 2; odd: closing
    event_channel* channels_;
    unsigned channel_count_;
    LONG children_ = 0;   // guarded by lock_
    bool calling_ = true; // guarded by lock_: a thread makes up-calls, or they are deferred
    LIST_ENTRY due_;      // guarded by lock_
    IRP* closer_ = nullptr;
};

} // namespace irpverbs::ci
