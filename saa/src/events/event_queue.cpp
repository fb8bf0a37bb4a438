#include <events/event_queue.hpp>

#include <access/session.hpp>

namespace irpverbs::saa {

event_queue::event_queue(session& of, const ibmf_saa_subnet_event_args_t& to) : of_(of), to_(to) {
    ExInitializeWorkItem(&item_, drain, this);
}

// After the first one that has no room nothing is taken until all is told: then the subscriber
// hears of the gap where it is.
void event_queue::push(const subnet_event& event) {
    if (of_.closing) return;
    losing_ = losing_ || count_ == capacity;
    if (!losing_) ring_[(first_ + count_++) % capacity] = event;
    if (!draining_) start();
}

void event_queue::start() {
    draining_ = true;
    of_.enter();
    intrusive_ptr_add_ref(&of_);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
}

// Under the lock. False: nothing is left, and the next event starts again.
bool event_queue::pop(subnet_event& next) {
    if (of_.closing || (count_ == 0 && !losing_)) {
        draining_ = false;
        return false;
    }
    if (count_ == 0) {
        losing_ = false;
        next = {IBMF_SAA_EVENT_LOST, {}};
        return true;
    }
    next = ring_[first_];
    first_ = (first_ + 1) % capacity;
    --count_;
    return true;
}

void event_queue::drain(void* context) {
    auto& self = *static_cast<event_queue*>(context);
    const session_ref who(&self.of_, false);
    callback_frame frame{{}, nullptr};
    for (bool called = false;; called = true) {
        subnet_event next;
        if (!self.next_call(next, frame, called)) return;
        self.to_.is_event_callback(who->handle, next.what, &next.details,
                                   self.to_.is_event_callback_arg);
    }
}

// Ends the call before, and begins the next one: of many sessions of a port that are told at once
// each takes its lock. False: there is none.
bool event_queue::next_call(subnet_event& next, callback_frame& frame, bool called) {
    const port::guard under(*of_.at);
    if (called) of_.end_call(frame);
    const bool more = pop(next);
    if (more)
        of_.begin_call(frame);
    else
        of_.has_left();
    return more;
}

} // namespace irpverbs::saa
