#include "seed_line.hpp"

namespace irpverbs::dispatch {

void random_choices::restart(std::uint64_t seed) {
    clear_trace();
    seed_ = seed;
    random_ = detail::generator(seed);
}

std::string_view random_choices::line(line_buffer& into) const {
    return seed_line({.strategy = strategy::random, .seed = seed_}, into);
}

std::uint32_t random_choices::choose_actor(std::span<const actor_id> runnable, bool, bool) {
    return random_.below(static_cast<std::uint32_t>(runnable.size()));
}

std::uint32_t random_choices::choose(std::uint32_t n) { return random_.below(n); }

bool random_choices::choose_fires(std::uint32_t one_in) { return random_.below(one_in) == 0; }

std::uint64_t random_choices::choose_bits() { return random_.next(); }

std::uint64_t random_choices::peek() const { return random_.peek(); }

} // namespace irpverbs::dispatch
