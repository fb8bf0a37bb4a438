// The sessions of a port that subscribe to events. Each may have several calls at once, so that a
// call may wait for the next event, and none waits for another session that is slow.
#pragma once

#include <events/event_log.hpp>
#include <list_link.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <dispatch/work_item.h>

#include <optional>

namespace irpverbs::saa {

class port;
struct callback_frame;
struct session;

/// A session's place among them.
struct subscriber {
    subscriber(session& its_session, const ibmf_saa_subnet_event_args_t& its_call)
        : who(its_session), call(its_call) {}

    session& who;
    const ibmf_saa_subnet_event_args_t call;

    // Guarded by the port's lock:
    event_log::position heard = 0;
    std::optional<subnet_event> own; // for this one alone, before the next of all
    std::uint64_t count = 0;         // events so far
    unsigned calls = 0;              // that run
    bool gone = false;
    list_link<subscriber> place{*this}; // in a list while another call may begin

    static constexpr unsigned most_calls = 8;
    bool may_be_called() const { return calls < most_calls; }
};

/// All but what is said under the port's lock.
class subscribers {
public:
    explicit subscribers(port& of);
    subscribers(const subscribers&) = delete;
    subscribers& operator=(const subscribers&) = delete;

    /// Hears what comes from now on. The session lives on until it is removed, and not in a call.
    void add(subscriber& fresh);
    /// What it gives back is let go of without the lock.
    boost::intrusive_ptr<session> remove(subscriber& gone);

    void tell(const subnet_event& event);
    void tell_alone(subscriber& whom, const subnet_event& event);

private:
    struct turn;
    static void work(void* self);
    subscriber* next_call(turn& mine);
    boost::intrusive_ptr<session> end_call(turn& mine);
    subscriber* begin_call(turn& mine);
    void list(subscriber& each);
    subscriber* take_waiting();
    bool has_more(const subscriber& of) const;
    void call_worker();

    port& of_;
    event_log log_;
    // Subscribers that may be called:
    LIST_ENTRY waiting_; // with events to come
    LIST_ENTRY up_to_date_;
    WORK_QUEUE_ITEM item_;
    bool worker_called_ = false; // and not yet there
};

} // namespace irpverbs::saa
