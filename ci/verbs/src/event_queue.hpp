// Events that a program reads from a descriptor: of completion channels and of contexts.
#pragma once

#include <dispatch/spin_lock.h>
#include <drop_in/readiness.hpp>

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

using event_queue_hook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct event_queue_tag>>;

/// Sources with events, in the order of their first occurrence, and the descriptor, which is
/// readable while there are some, and from the end on.
class event_queue : public event_queue_hook {
public:
    /// Opens the descriptor. False: errno has the cause.
    bool open() { return ready_.open(); }
    int descriptor() const { return ready_.descriptor(); }

    /// Adds an occurrence. IRQL: <= DISPATCH_LEVEL.
    void add(event_source& source);

    /// Ends the queue, as the kernel ends that of a device that is gone: no thread waits for events
    /// any more. IRQL: <= DISPATCH_LEVEL.
    void end();

    struct event {
        void* owner;
        int code;
    };
    enum class outcome { taken, none, ended };
    /// Takes the oldest event. The caller has read the descriptor. None: a removal may leave the
    /// byte behind. Ended: there is none, and the queue has ended.
    outcome take(event& into);

    /// Removes the sources' events, and returns the number of those that were taken. No event of
    /// them occurs any more.
    ULONG remove(std::span<event_source> sources);

private:
    KSPIN_LOCK lock_ = 0;
    drop_in::readiness ready_; // guarded by lock_, as the next
    bool has_ended_ = false;
    boost::intrusive::list<event_source> sources_;
};

} // namespace irpverbs::verbs
