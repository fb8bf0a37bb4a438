#pragma once

#include <cstdint>

namespace irpverbs::saa {

/// Machine time in units of 100 ns from an arbitrary start. Callers pass it in; the cache reads no
/// clock.
using machine_time = std::uint64_t;
inline constexpr machine_time ticks_per_second = 10'000'000;

} // namespace irpverbs::saa
