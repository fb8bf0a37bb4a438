#include <events/subscribers.hpp>

#include <access/session.hpp>

namespace irpverbs::saa {

subscribers::subscribers(port& of) : of_(of) {
    InitializeListHead(&waiting_);
    InitializeListHead(&up_to_date_);
    ExInitializeWorkItem(&item_, work, this);
}

void subscribers::add(subscriber& fresh) {
    fresh.heard = log_.end();
    InsertTailList(&up_to_date_, &fresh.place.entry);
    intrusive_ptr_add_ref(&fresh.who);
}

session_ref subscribers::remove(subscriber& gone) {
    gone.gone = true;
    if (gone.may_be_called()) RemoveEntryList(&gone.place.entry);
    if (gone.calls != 0) return nullptr; // the end of the last call releases the session
    return {&gone.who, false};
}

void subscribers::tell(const subnet_event& event) {
    log_.add(event);
    if (!IsListEmpty(&up_to_date_)) {
        LIST_ENTRY* const all = up_to_date_.Flink;
        RemoveEntryList(&up_to_date_);
        AppendTailList(&waiting_, all);
        InitializeListHead(&up_to_date_);
    }
    call_worker();
}

void subscribers::tell_alone(subscriber& whom, const subnet_event& event) {
    whom.own = event;
    if (!whom.may_be_called()) return;
    RemoveEntryList(&whom.place.entry);
    InsertTailList(&waiting_, &whom.place.entry);
    call_worker();
}

void subscribers::call_worker() {
    if (worker_called_ || IsListEmpty(&waiting_)) return;
    worker_called_ = true;
    intrusive_ptr_add_ref(&of_);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
}

bool subscribers::has_more(const subscriber& of) const { return of.own || of.heard != log_.end(); }

void subscribers::list(subscriber& each) {
    InsertTailList(has_more(each) ? &waiting_ : &up_to_date_, &each.place.entry);
}

/// A worker's current call.
struct subscribers::turn {
    subscriber* whom = nullptr;
    subnet_event event{};
    callback_frame frame{};
};

void subscribers::work(void* context) {
    subscribers& self = *static_cast<subscribers*>(context);
    const boost::intrusive_ptr<port> kept(&self.of_, false);
    turn mine;
    while (subscriber* const whom = self.next_call(mine))
        whom->call.is_event_callback(whom->who.handle, mine.event.what, &mine.event.details,
                                     whom->call.is_event_callback_arg);
}

// Ends the previous call, and begins the next one. Returns null when there is none.
subscriber* subscribers::next_call(turn& mine) {
    session_ref last;
    const port::guard under(of_);
    if (mine.whom != nullptr)
        last = end_call(mine);
    else
        worker_called_ = false;
    return mine.whom = begin_call(mine);
}

session_ref subscribers::end_call(turn& mine) {
    subscriber& done = *mine.whom;
    const bool was_listed = done.may_be_called();
    --done.calls;
    done.who.end_call(mine.frame);
    done.who.has_left();
    if (done.gone) return done.calls == 0 ? session_ref(&done.who, false) : nullptr;
    if (!was_listed) list(done);
    return nullptr;
}

// Calls another worker for the remaining events, this session's included, in case the call takes
// long.
subscriber* subscribers::begin_call(turn& mine) {
    subscriber* const next = take_waiting();
    if (next == nullptr) return nullptr;
    mine.event = next->own ? *next->own : log_.next(next->heard);
    next->own.reset();
    ++next->calls;
    mine.frame.event_number = ++next->count;
    next->who.enter();
    next->who.begin_call(mine.frame);
    if (next->may_be_called()) list(*next);
    call_worker();
    return next;
}

// Skips subscribers whose session is being closed.
subscriber* subscribers::take_waiting() {
    while (!IsListEmpty(&waiting_)) {
        LIST_ENTRY* const first = RemoveHeadList(&waiting_);
        subscriber& next = list_link<subscriber>::of(first);
        if (!next.who.closing) return &next;
        InsertTailList(&up_to_date_, first);
    }
    return nullptr;
}

} // namespace irpverbs::saa
