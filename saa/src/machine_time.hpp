#pragma once

#include <cstdint>

namespace irpverbs::saa {

/// A machine's clock: 100 ns since some beginning. Passed in; nothing here reads a clock.
using machine_time = std::uint64_t;
inline constexpr machine_time ticks_a_second = 10'000'000;

} // namespace irpverbs::saa
