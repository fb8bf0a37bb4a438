// Types and helpers that the parts of this package share.
#pragma once

#include <saa/records.hpp>

#include <cstdint>

namespace irpverbs::subnet_manager {

using saa::layout_of;
using saa::matches;
using saa::pack;
using saa::record_type;
using saa::unpack;
using saa::unpack_multipath;

/// Machine time in units of 100 ns from an arbitrary start. Callers pass it in; the model reads no
/// clock.
using machine_time = std::uint64_t;
inline constexpr machine_time ticks_per_second = 10'000'000;

inline bool is_multicast(const ib_gid_t& gid) { return gid.gid_prefix >> 56 == 0xff; }

} // namespace irpverbs::subnet_manager
