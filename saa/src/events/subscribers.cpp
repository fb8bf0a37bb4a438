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
    if (gone.in_call) return nullptr; // its end lets go
    RemoveEntryList(&gone.place.entry);
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
    if (whom.in_call) return;
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

/// What a worker does, call by call.
struct subscribers::turn {
    subscriber* whom = nullptr;
    subnet_event event{};
    callback_frame frame{{}, nullptr};
};

void subscribers::work(void* context) {
    subscribers& self = *static_cast<subscribers*>(context);
    const boost::intrusive_ptr<port> kept(&self.of_, false);
    turn mine;
    while (subscriber* const whom = self.next_call(mine))
        whom->call.is_event_callback(whom->who.handle, mine.event.what, &mine.event.details,
                                     whom->call.is_event_callback_arg);
}

// Ends the call before, and begins the next one. Null: there is none.
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
    done.in_call = false;
    done.who.end_call(mine.frame);
    done.who.has_left();
    if (done.gone) return {&done.who, false};
    InsertTailList(has_more(done) ? &waiting_ : &up_to_date_, &done.place.entry);
    return nullptr;
}

// Should this call take long, another worker goes on with the rest.
subscriber* subscribers::begin_call(turn& mine) {
    subscriber* const next = take_waiting();
    if (next == nullptr) return nullptr;
    call_worker();
    next->in_call = true;
    next->who.enter();
    next->who.begin_call(mine.frame);
    mine.event = next->own ? *next->own : log_.next(next->heard);
    next->own.reset();
    return next;
}

// One that is being closed hears nothing more.
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
