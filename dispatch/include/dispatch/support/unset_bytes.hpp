// Memory that a driver receives is not zeroed while the verifier is on. All its bytes have one
// value, which distinguishes returned bytes that the driver never set.
#ifndef IRPVERBS_DISPATCH_SUPPORT_UNSET_BYTES_HPP
#define IRPVERBS_DISPATCH_SUPPORT_UNSET_BYTES_HPP

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace irpverbs::dispatch::detail {

inline constexpr unsigned char unset_byte = 0xC7;

/// Returns the number of bytes at the end of `returned` that have that value.
inline std::size_t unset_at_end(std::string_view returned) {
    const auto is_set = [](char byte) { return static_cast<unsigned char>(byte) != unset_byte; };
    return static_cast<std::size_t>(std::find_if(returned.rbegin(), returned.rend(), is_set) -
                                    returned.rbegin());
}

} // namespace irpverbs::dispatch::detail

#endif
