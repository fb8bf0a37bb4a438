#include <events/subscribers.hpp>

#include <access/session.hpp>

namespace irpverbs::saa {

subscribers::subscribers(session_port& of) : of_(of) { ExInitializeWorkItem(&item_, work, this); }

void subscribers::add(subscriber& fresh) {
    fresh.read_position = log_.end();
    up_to_date_.push_back(fresh);
    intrusive_ptr_add_ref(&fresh.who);
}

session_ref subscribers::remove(subscriber& gone) {
    gone.removed = true;
    gone.unlink();
    if (gone.calls != 0) return nullptr; // the end of the last call releases the session
    return {&gone.who, false};
}

void subscribers::emit(const subnet_event& event) {
    log_.add(event);
    waiting_.splice(waiting_.end(), up_to_date_);
    queue_worker();
}

void subscribers::emit_to(subscriber& whom, const subnet_event& event) {
    whom.private_event = event;
    if (!whom.may_be_called()) return;
    whom.unlink();
    waiting_.push_back(whom);
    queue_worker();
}

void subscribers::queue_worker() {
    if (worker_queued_ || waiting_.empty()) return;
    worker_queued_ = true;
    intrusive_ptr_add_ref(&of_);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
}

bool subscribers::has_more(const subscriber& of) const {
    return of.private_event || of.read_position != log_.end();
}

void subscribers::list(subscriber& each) {
    (has_more(each) ? waiting_ : up_to_date_).push_back(each);
}

/// A worker's current call.
struct subscribers::worker_call {
    subscriber* whom = nullptr;
    subnet_event event{};
    callback_frame frame{};
};

void subscribers::work(void* context) {
    subscribers& self = *static_cast<subscribers*>(context);
    const boost::intrusive_ptr<session_port> kept(&self.of_, false);
    worker_call current;
    while (subscriber* const whom = self.next_call(current))
        whom->call.is_event_callback(whom->who.handle, current.event.what, &current.event.details,
                                     whom->call.is_event_callback_arg);
}

// Ends the previous call, and begins the next one. Returns null when there is none.
subscriber* subscribers::next_call(worker_call& current) {
    session_ref last;
    const session_port::guard locked(of_);
    if (current.whom != nullptr)
        last = end_call(current);
    else
        worker_queued_ = false;
    return current.whom = begin_call(current);
}

session_ref subscribers::end_call(worker_call& current) {
    subscriber& done = *current.whom;
    const bool was_listed = done.may_be_called();
    --done.calls;
    done.who.end_call(current.frame);
    done.who.end_operation_locked();
    if (done.removed) return done.calls == 0 ? session_ref(&done.who, false) : nullptr;
    if (!was_listed) list(done);
    return nullptr;
}

// Calls another worker for the remaining events, this session's included, in case the call takes
// long.
subscriber* subscribers::begin_call(worker_call& current) {
    subscriber* const next = next_waiting();
    if (next == nullptr) return nullptr;
    current.event = next->private_event ? *next->private_event : log_.next(next->read_position);
    next->private_event.reset();
    ++next->calls;
    current.frame.event_number = ++next->count;
    next->who.begin_operation();
    next->who.begin_call(current.frame);
    if (next->may_be_called()) list(*next);
    queue_worker();
    return next;
}

// Skips subscribers whose session is being closed.
subscriber* subscribers::next_waiting() {
    while (!waiting_.empty()) {
        subscriber& next = waiting_.front();
        waiting_.pop_front();
        if (!next.who.closing) return &next;
        up_to_date_.push_back(next);
    }
    return nullptr;
}

} // namespace irpverbs::saa
