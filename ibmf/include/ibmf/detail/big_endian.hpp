// Big-endian integers at any alignment.
#ifndef IRPVERBS_IBMF_DETAIL_BIG_ENDIAN_HPP
#define IRPVERBS_IBMF_DETAIL_BIG_ENDIAN_HPP

#include <cstdint>
#include <cstring>

namespace irpverbs::ibmf::detail {

// Converts between the byte order of the host and of the wire, in both directions.
template <class Integer>
constexpr Integer swapped(Integer value) {
    static_assert(sizeof(Integer) == 2 || sizeof(Integer) == 4 || sizeof(Integer) == 8);
    if constexpr (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) return value;
    if constexpr (sizeof(Integer) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(Integer) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(Integer) == 8) return __builtin_bswap64(value);
}

template <class Integer>
Integer load_be(const std::uint8_t* from) {
    Integer value;
    std::memcpy(&value, from, sizeof value);
    return swapped(value);
}

template <class Integer>
void store_be(std::uint8_t* to, Integer value) {
    value = swapped(value);
    std::memcpy(to, &value, sizeof value);
}

} // namespace irpverbs::ibmf::detail

#endif
