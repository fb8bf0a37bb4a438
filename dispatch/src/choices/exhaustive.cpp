#include <dispatch/testing/choices.hpp>

#include <algorithm>
#include <stdexcept>

namespace irpverbs::dispatch {

// The seed is arbitrary: each run must only draw the same values.
constexpr std::uint64_t value_seed = 1;

exhaustive_choices::exhaustive_choices(std::optional<std::uint32_t> preemption_bound)
    : preemption_bound_(preemption_bound), values_(value_seed) {}

bool exhaustive_choices::next() {
    if (diverged_ || position_ != path_.size())
        throw std::logic_error("exhaustive: run " + std::to_string(runs_ + 1) +
                               " took another way at choice " + std::to_string(position_) +
                               " than the run before it; something beside choices decides "
                               "(a clock, an address, state kept from the last run)");
    ++runs_;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count)
        path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    begin_run();
    return true;
}

void exhaustive_choices::begin_run() {
    clear_trace();
    position_ = 0;
    step_ = 0;
    values_ = detail::generator(value_seed);
    for (actor_state& actor : actors_) {
        actor.last_ran = actor.last_yield = actor.waits_since = 0;
        actor.contenders.clear();
        actor.must_follow.clear();
    }
}

std::uint32_t exhaustive_choices::choose(std::uint32_t n) {
    if (diverged_) return 0;
    if (position_ == path_.size()) path_.push_back({0, n});
    // A pick can't throw (noexcept C functions call it), so next() reports the error later.
    if (path_[position_].count != n) return diverged_ = true, 0;
    return path_[position_++].taken;
}

bool exhaustive_choices::choose_fires(std::uint32_t) { return choose(2) == 1; }

std::uint64_t exhaustive_choices::choose_bits() { return values_.next(); }

std::uint64_t exhaustive_choices::peek() const { return values_.peek(); }

std::uint32_t exhaustive_choices::choose_actor(std::span<const actor_id> runnable,
                                               bool current_runnable, bool yielded) {
    const actor_id last = *std::max_element(runnable.begin(), runnable.end());
    if (last >= actors_.size()) actors_.resize(last + std::size_t{1});
    if (current_runnable) {
        actors_[runnable[0]].last_ran = ++step_;
        actors_[runnable[0]].must_follow.clear();
        if (yielded) note_yield(runnable);
    }
    collect_candidates(runnable, current_runnable, yielded);
    const std::uint32_t count = static_cast<std::uint32_t>(candidates_.size());
    const std::uint32_t index = candidates_[count == 1 ? 0 : choose(count)];
    actors_[runnable[index]].last_ran = ++step_;
    actors_[runnable[index]].must_follow.clear();
    return index;
}

void exhaustive_choices::collect_candidates(std::span<const actor_id> runnable,
                                            bool current_runnable, bool yielded) {
    candidates_.clear();
    if (current_runnable && !yielded && preemption_bound_ && preemptions() == *preemption_bound_) {
        candidates_.push_back(0);
        return;
    }
    const std::uint32_t first = current_runnable && yielded ? 1 : 0;
    const std::uint32_t count = static_cast<std::uint32_t>(runnable.size());
    for (std::uint32_t i = first; i < count; ++i)
        if (!must_wait(runnable[i], runnable)) candidates_.push_back(i);
    if (!candidates_.empty()) return;
    for (std::uint32_t i = first; i < count; ++i)
        candidates_.push_back(i);
}

// Between two yields of an actor each of its contenders had a chance to run; a contender that did
// not take it must run before the actor does. A single yield has no such effect, so no interleaving
// with progress is lost.
void exhaustive_choices::note_yield(std::span<const actor_id> runnable) {
    actor_state& me = actors_[runnable[0]];
    me.must_follow.swap(me.contenders);
    me.waits_since = me.last_yield;
    me.last_yield = ++step_;
    me.contenders.assign(runnable.begin() + 1, runnable.end());
}

bool exhaustive_choices::must_wait(actor_id actor, std::span<const actor_id> runnable) const {
    const actor_state& state = actors_[actor];
    return std::any_of(state.must_follow.begin(), state.must_follow.end(), [&](actor_id contender) {
        return actors_[contender].last_ran <= state.waits_since &&
               std::find(runnable.begin(), runnable.end(), contender) != runnable.end();
    });
}

} // namespace irpverbs::dispatch
