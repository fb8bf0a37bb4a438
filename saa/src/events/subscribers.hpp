// The sessions of a port that subscribe to events. Each may have several calls at once, so that a
// call may wait for the next event, and no session waits for the callback of another.
#pragma once

#include <events/event_log.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <dispatch/work_item.h>

#include <optional>

namespace irpverbs::saa {

class session_port;
struct callback_frame;
struct session;

using subscriber_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// The subscription of one session. It is linked in a list while a further call may begin.
struct subscriber : subscriber_hook {
    subscriber(session& its_session, const ibmf_saa_subnet_event_args_t& its_call)
        : who(its_session), call(its_call) {}

    session& who;
    const ibmf_saa_subnet_event_args_t call;

    // The port's lock guards these members:
    event_log::position read_position = 0;
    std::optional<subnet_event>
        private_event;       // for this subscriber alone, before the next common event
    std::uint64_t count = 0; // events reported so far
    unsigned calls = 0;      // running calls
    bool removed = false;

    static constexpr unsigned max_calls = 8;
    bool may_be_called() const { return calls < max_calls; }
};

/// The caller holds the port's lock, except where a comment states otherwise.
class subscribers {
public:
    explicit subscribers(session_port& of);
    subscribers(const subscribers&) = delete;
    subscribers& operator=(const subscribers&) = delete;

    /// Subscribes to the events after the call. The session stays alive until its removal and the
    /// end of its calls.
    void add(subscriber& fresh);
    /// The caller releases the result after the lock.
    boost::intrusive_ptr<session> remove(subscriber& gone);

    void emit(const subnet_event& event);
    void emit_to(subscriber& whom, const subnet_event& event);

private:
    struct worker_call;
    static void work(void* self);
    subscriber* next_call(worker_call& current);
    boost::intrusive_ptr<session> end_call(worker_call& current);
    subscriber* begin_call(worker_call& current);
    void list(subscriber& each);
    subscriber* next_waiting();
    bool has_more(const subscriber& of) const;
    void queue_worker();

    session_port& of_;
    event_log log_;
    // Subscribers with room for a further call:
    using list_of_subscribers =
        boost::intrusive::list<subscriber, boost::intrusive::constant_time_size<false>>;
    list_of_subscribers waiting_; // with events to report
    list_of_subscribers up_to_date_;
    WORK_QUEUE_ITEM item_;
    bool worker_queued_ = false; // queued, but not yet running
};

} // namespace irpverbs::saa
