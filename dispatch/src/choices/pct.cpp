#include "seed_line.hpp"

#include <algorithm>

namespace irpverbs::dispatch {

pct_choices::pct_choices(std::uint64_t seed, std::uint32_t depth, std::uint32_t expected_steps)
    : seed_(seed), random_(seed), depth_(std::max(depth, 1u)),
      expected_steps_(std::max(expected_steps, 1u)) {
    plan();
}

void pct_choices::restart(std::uint64_t seed) {
    clear_trace();
    seed_ = seed;
    random_ = detail::generator(seed);
    priorities_.clear();
    bottom_ = 0;
    plan();
}

std::string_view pct_choices::line(line_buffer& into) const {
    return seed_line({.strategy = strategy::pct,
                      .seed = seed_,
                      .depth = depth_,
                      .expected_steps = expected_steps_},
                     into);
}

// A change's priority depends on when it was drawn, not on its step: a later change may put an
// actor above one lowered before it.
void pct_choices::plan() {
    changes_.clear();
    changes_done_ = 0;
    for (std::uint32_t i = 1; i < depth_; ++i)
        changes_.push_back({random_.below(expected_steps_), i});
    std::sort(changes_.begin(), changes_.end(), [](const change& a, const change& b) {
        return a.step != b.step ? a.step < b.step : a.priority < b.priority;
    });
}

// Three bands of priorities: drawn ones at the top, those of the changes (1..depth-1) below, those
// of yields from 0 down.
std::int64_t& pct_choices::priority_of(actor_id actor) {
    constexpr std::int64_t drawn_band = std::int64_t{1} << 62;
    while (priorities_.size() <= actor)
        priorities_.push_back(drawn_band | static_cast<std::int64_t>(random_.next() >> 2));
    return priorities_[actor];
}

std::uint32_t pct_choices::highest(std::span<const actor_id> runnable) {
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < runnable.size(); ++i)
        if (priority_of(runnable[i]) > priority_of(runnable[best])) best = i;
    return best;
}

std::uint32_t pct_choices::choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                                        bool yielded) {
    if (yielded && current_runnable) priority_of(runnable[0]) = --bottom_;
    std::uint32_t best = highest(runnable);
    while (changes_done_ < changes_.size() && changes_[changes_done_].step <= actor_decisions()) {
        priority_of(runnable[best]) = changes_[changes_done_++].priority;
        best = highest(runnable);
    }
    return best;
}

std::uint32_t pct_choices::choose(std::uint32_t n) { return random_.below(n); }

bool pct_choices::choose_fires(std::uint32_t one_in) { return random_.below(one_in) == 0; }

std::uint64_t pct_choices::choose_bits() { return random_.next(); }

std::uint64_t pct_choices::peek() const { return random_.peek(); }

} // namespace irpverbs::dispatch
