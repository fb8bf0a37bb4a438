#include "event_queue.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::verbs {

void event_queue::add(event_source& source) {
    const dispatch::detail::spin_guard guard(lock_);
    if (source.waiting++ == 0) sources_.push_back(source);
    ready_.set();
}

void event_queue::end() {
    const dispatch::detail::spin_guard guard(lock_);
    has_ended_ = true;
    ready_.set();
}

event_queue::outcome event_queue::take(event& into) {
    const dispatch::detail::spin_guard guard(lock_);
    ready_.was_read();
    if (has_ended_) ready_.set(); // for the thread that reads next
    if (sources_.empty()) return has_ended_ ? outcome::ended : outcome::none;
    event_source& first = sources_.front();
    into = {first.owner, first.code};
    ++first.taken;
    sources_.pop_front();
    if (--first.waiting != 0) sources_.push_back(first);
    if (!sources_.empty()) ready_.set();
    return outcome::taken;
}

ULONG event_queue::remove(std::span<event_source> sources) {
    const dispatch::detail::spin_guard guard(lock_);
    ULONG taken = 0;
    for (event_source& each : sources) {
        taken += each.taken;
        if (each.waiting == 0) continue;
        each.waiting = 0;
        sources_.erase(sources_.iterator_to(each));
    }
    if (sources_.empty() && !has_ended_) ready_.clear();
    return taken;
}

} // namespace irpverbs::verbs
