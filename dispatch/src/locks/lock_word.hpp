// The meaning of a KSPIN_LOCK's word. Held: the address of the owner, or of the last entry in its
// queue; both are aligned. Free: 0, or the mark of one life of the lock's memory.
#pragma once

#include <dispatch/spin_lock.h>

#include <cstdint>

namespace irpverbs::dispatch::detail {

/// Only the low half holds the mark, as the verifier may search for it in an EX_SPIN_LOCK at the
/// same address.
constexpr KSPIN_LOCK lock_mark(std::uint64_t life) noexcept { return (life << 2 | 2) & 0xffffffff; }

constexpr bool is_free_word(KSPIN_LOCK word) noexcept { return word == 0 || (word & 3) == 2; }

} // namespace irpverbs::dispatch::detail
