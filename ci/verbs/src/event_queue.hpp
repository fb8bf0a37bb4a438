// Events that a program reads from a descriptor: of completion channels and of contexts.
#pragma once

#include <dispatch/spin_lock.h>

#include <boost/intrusive/list.hpp>

#include <span>

namespace irpverbs::verbs {

/// One kind of event of one object. It may occur again before it is read; nothing is allocated.
struct event_source : boost::intrusive::list_base_hook<> {
    void* owner = nullptr; // the object, as the program knows it
    int code = 0;          // distinguishes the object's sources
    ULONG waiting = 0;     // occurrences that were not taken; guarded by the queue's lock
    ULONG taken = 0;       // occurrences that were, which the program acknowledges
};

/// Sources with events, in the order of their first occurrence, and the descriptor.
///
/// The descriptor is one end of a pair of sockets. A byte is in it while the queue has events, or a
/// reader has received the byte and not yet acquired the lock. A program may change its file status
/// flags: they concern the program's end only.
class event_queue {
public:
    event_queue() = default;
    ~event_queue();
    event_queue(const event_queue&) = delete;
    event_queue& operator=(const event_queue&) = delete;

    /// Opens the descriptor. False: errno has the cause.
    bool open();
    int descriptor() const { return ends_[0]; }

    /// Adds an occurrence. IRQL: <= DISPATCH_LEVEL.
    void add(event_source& source);

    struct event {
        void* owner;
        int code;
    };
    /// Takes the oldest event. The caller has received the byte from the descriptor. False: there
    /// is no event, since a removal may leave the byte behind.
    bool take(event& into);

    /// Removes the sources' events, and returns the number of those that were taken. No event of
    /// them occurs any more.
    ULONG remove(std::span<event_source> sources);

private:
    void set();

    int ends_[2] = {-1, -1};
    KSPIN_LOCK lock_ = 0;
    bool set_ = false; // guarded by lock_, as the next
    boost::intrusive::list<event_source> sources_;
};

} // namespace irpverbs::verbs
