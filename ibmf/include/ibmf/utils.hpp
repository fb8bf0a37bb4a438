/// The conversions of ibmf_utils.h, with sizes taken from the types.
#ifndef IRPVERBS_IBMF_UTILS_HPP
#define IRPVERBS_IBMF_UTILS_HPP

#include <ibmf/ibmf_utils.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace irpverbs::ibmf {

/// ibmf_utils_unpack_data.
template <class Structure>
int utils_unpack_data(const char* format, std::span<const std::uint8_t> data,
                      Structure& structure) noexcept {
    static_assert(std::is_trivially_copyable_v<Structure>);
    return ibmf_utils_unpack_data(format, data.data(), data.size(), &structure, sizeof structure);
}

/// ibmf_utils_pack_data.
template <class Structure>
int utils_pack_data(const char* format, const Structure& structure,
                    std::span<std::uint8_t> data) noexcept {
    static_assert(std::is_trivially_copyable_v<Structure>);
    return ibmf_utils_pack_data(format, &structure, sizeof structure, data.data(), data.size());
}

/// ibmf_utils_wire_size.
inline int utils_wire_size(const char* format) noexcept { return ibmf_utils_wire_size(format); }

} // namespace irpverbs::ibmf

#endif
