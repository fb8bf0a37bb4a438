#include <dispatch/testing/schedule.hpp>

namespace irpverbs::dispatch {

void random_choices::restart(std::uint64_t seed) {
    clear_trace();
    seed_ = seed;
    random_ = detail::generator(seed);
}

std::string random_choices::line() const {
    return replay_line(schedule_options{.strategy = strategy::random, .seed = seed_});
}

std::uint32_t random_choices::choose_actor(std::span<const actor_id> runnable, bool, bool) {
    return random_.below(static_cast<std::uint32_t>(runnable.size()));
}

std::uint32_t random_choices::choose(std::uint32_t n) { return random_.below(n); }

bool random_choices::choose_fires(std::uint32_t one_in) { return random_.below(one_in) == 0; }

std::uint64_t random_choices::choose_bits() { return random_.next(); }

std::uint64_t random_choices::peek() const { return random_.peek(); }

} // namespace irpverbs::dispatch
