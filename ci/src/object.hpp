// What channel adapters, completion queues and agents have in common: users, events, and a close
// that lets both run out.
#pragma once

#include <ci/driver.h>

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

/// IRPs that wait for something of an object, oldest first. Guarded by the object's lock.
struct waiting_line {
    IO_CSQ csq;
    LIST_ENTRY irps;
    object* owner;

    static waiting_line& of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, waiting_line, csq); }
    void prepare(object& its_owner, PIO_CSQ_INSERT_IRP_EX insert, PIO_CSQ_PEEK_NEXT_IRP peek);
    void park(IRP* irp) { InsertTailList(&irps, &irp->Tail.Overlay.ListEntry); }
    /// The IRP behind this one, or the oldest; null: there is none.
    IRP* after(const IRP* irp) const;
    void cancel_all();
};

/// One source of events of an object: the IRPs that wait for it, and what came when none did. All
/// guarded by the object's lock.
struct event_channel {
    waiting_line line;
    LIST_ENTRY due; // in the object's list while up-calls are left to make
    event_set latched;
    event_set calls; // up-calls left to make
};

class object {
public:
    object(const object&) = delete;
    object& operator=(const object&) = delete;
    virtual ~object() = default;

    /// A user keeps the object from going away. False: it is being closed.
    bool enter();
    void leave();
    bool closing() const { return (users_.load(std::memory_order_acquire) & closing_bit) != 0; }

    /// Parks the IRP until the channel's next event, or completes it with one that is latched. When
    /// nothing is latched and `otherwise` is a failure, completes it with that.
    NTSTATUS wait(unsigned channel, IRP* irp, NTSTATUS otherwise);

    /// An event happened. The caller is a user.
    void signal(unsigned channel, IB_ASYNC_EVENT event);

    /// Makes up-calls held back since the object was made. The caller is a user.
    void start_calling() { make_calls(); }

    /// STATUS_DEVICE_BUSY when there are children; otherwise completes the IRP, now or when the
    /// last user has left. The caller is a user, and the IRP its carrier.
    NTSTATUS close(IRP* irp);

    /// False: it is being closed.
    bool add_child();
    void drop_child();

protected:
    object(event_channel* channels, unsigned count);
    /// Completes all that wait, STATUS_CANCELLED: it is being closed.
    virtual void cancel_waiting();

private:
    friend waiting_line;
    static constexpr ULONG_PTR closing_bit = 1;
    static constexpr ULONG_PTR one_user = 2;

    virtual bool listens(unsigned channel) const = 0;
    virtual void call_up(unsigned channel, IB_ASYNC_EVENT event) = 0;

    NTSTATUS begin_close(IRP* irp);
    void queue_call(event_channel& channel, IB_ASYNC_EVENT event);
    event_channel* next_call(IB_ASYNC_EVENT& event);
    void make_calls();

    static NTSTATUS insert(IO_CSQ* csq, IRP* irp, void* context);
    static IRP* peek(IO_CSQ* csq, IRP* irp, void* context);
    static void acquire(IO_CSQ* csq, KIRQL* level);
    static void release(IO_CSQ* csq, KIRQL level);

    std::atomic<ULONG_PTR> users_{one_user}; // * 2; odd: closing
    KSPIN_LOCK lock_ = 0;
    event_channel* channels_;
    unsigned channel_count_;
    LONG children_ = 0;   // guarded by lock_
    bool calling_ = true; // guarded by lock_: somebody makes up-calls, or they are held back
    LIST_ENTRY due_;      // guarded by lock_
    IRP* closer_ = nullptr;
};

} // namespace irpverbs::ci
