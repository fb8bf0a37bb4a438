// The two strategies that read their choices from outside: from a trace, or from a fuzzer's bytes.
#include <dispatch/testing/choices.hpp>

#include <algorithm>

namespace irpverbs::dispatch {

void replay_choices::restart(std::span<const std::uint32_t> script) {
    clear_trace();
    script_.assign(script.begin(), script.end());
    position_ = out_of_range_ = past_end_ = 0;
    fair_.clear();
}

std::uint32_t replay_choices::next_choice() {
    if (position_ < script_.size()) return script_[position_++];
    ++past_end_;
    return 0;
}

std::uint32_t replay_choices::choose(std::uint32_t n) {
    const std::uint32_t choice = next_choice();
    if (choice < n) return choice;
    ++out_of_range_;
    return n - 1;
}

std::uint32_t replay_choices::choose_actor(std::span<const actor_id> runnable,
                                           bool current_runnable, bool yielded) {
    if (current_runnable) fair_.ran(runnable[0]);
    const bool scripted = position_ < script_.size();
    std::uint32_t index = choose(static_cast<std::uint32_t>(runnable.size()));
    if (!scripted) index = fair_.next(runnable, current_runnable, yielded);
    fair_.ran(runnable[index]);
    return index;
}

bool replay_choices::choose_fires(std::uint32_t) { return choose(2) == 1; }

// Past the end no choice was recorded; in a shortened trace that means "no".
bool replay_choices::choose_recorded(bool) { return choose(2) == 1; }

std::uint64_t replay_choices::choose_bits() {
    const std::uint64_t high = next_choice();
    return high << 32 | next_choice();
}

std::uint64_t replay_choices::peek() const {
    return position_ < script_.size() ? script_[position_] : 0;
}

std::uint64_t byte_choices::read(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && !exhausted(); ++i)
        value |= std::uint64_t{input_[position_++]} << (8 * i);
    return value;
}

static std::size_t width_of(std::uint32_t n) { return n <= 0x100 ? 1 : n <= 0x10000 ? 2 : 4; }

std::uint32_t byte_choices::choose(std::uint32_t n) {
    return static_cast<std::uint32_t>(read(width_of(n)) % n);
}

std::uint32_t byte_choices::choose_actor(std::span<const actor_id> runnable, bool current_runnable,
                                         bool yielded) {
    if (current_runnable) fair_.ran(runnable[0]);
    const std::uint32_t index = exhausted() ? fair_.next(runnable, current_runnable, yielded)
                                            : choose(static_cast<std::uint32_t>(runnable.size()));
    fair_.ran(runnable[index]);
    return index;
}

// The test is for 1, not for 0, so that an input of zeros is the plain run.
bool byte_choices::choose_fires(std::uint32_t one_in) { return choose(one_in) == 1; }

std::uint64_t byte_choices::choose_bits() { return read(8); }

std::uint64_t byte_choices::peek() const { return input_.size() - position_; }

} // namespace irpverbs::dispatch
