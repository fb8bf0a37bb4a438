// Times of communication management, in machine time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace irpverbs::cm::engine {

/// Units of 100 ns.
using ticks = std::uint64_t;

/// 4.096 us * 2^code; codes have 5 bits.
constexpr ticks time_of(unsigned code) { return (std::uint64_t{4096} << (code & 31)) / 100; }

/// The wait for a response that the peer takes `code` for.
constexpr ticks response_time(unsigned life_time, unsigned code) {
    return 2 * time_of(life_time) + time_of(code);
}

/// The acknowledgement timeout of a path: twice its life time, and the peer's delay; a code of 5
/// bits.
constexpr std::uint8_t ack_timeout(unsigned life_time, unsigned ack_delay) {
    const std::uint64_t wanted = (std::uint64_t{2} << (life_time & 31)) +
                                 (ack_delay != 0 ? std::uint64_t{1} << (ack_delay & 31) : 0);
    unsigned code = 0;
    while (code < 31 && (std::uint64_t{1} << code) < wanted)
        ++code;
    return static_cast<std::uint8_t>(code);
}

/// The life time of a path of which the peer sends the acknowledgement timeout.
constexpr std::uint8_t life_time_of(unsigned ack_timeout_code) {
    return static_cast<std::uint8_t>(std::max(ack_timeout_code, 1u) - 1);
}

/// The time that an MRA requests: 69 s, as rdma_cm's.
inline constexpr unsigned service_timeout = 24;

/// A time that a peer has chosen, with the bound of this end: codes go up to 2.4 hours, and what a
/// hostile peer begins must not last as long.
constexpr ticks chosen_by_peer(ticks time) { return std::min(time, 2 * time_of(service_timeout)); }

} // namespace irpverbs::cm::engine
