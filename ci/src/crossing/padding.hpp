// The bytes of structures that belong to no member: assignments may leave there what lay in the
// memory before, so they are cleared before a structure goes to another process.
#pragma once

#include <ci/driver.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace irpverbs::ci::crossing {

/// The bytes [first, last) of a structure.
struct gap {
    std::size_t first;
    std::size_t last;
};

template <class Structure>
inline constexpr std::array<gap, 0> gaps_of{};

template <class Structure>
Structure& any_of();

#define MEMBER_END(structure, member)                                                              \
    (offsetof(structure, member) + sizeof(any_of<structure>().member))
#define BETWEEN(structure, member, next)                                                           \
    gap { MEMBER_END(structure, member), offsetof(structure, next) }
#define BEHIND(structure, member)                                                                  \
    gap { MEMBER_END(structure, member), sizeof(structure) }

template <>
inline constexpr std::array gaps_of<IB_CA_ATTR>{
    BETWEEN(IB_CA_ATTR, PortOffset, Extended),
    BETWEEN(IB_CA_ATTR, Extended.PciCompareAndSwap, MinBlockSize)};
template <>
inline constexpr std::array gaps_of<IB_WC>{BEHIND(IB_WC, PathBits)};
template <>
inline constexpr std::array gaps_of<ib_mw_attr_t>{BEHIND(ib_mw_attr_t, rkey)};
template <>
inline constexpr std::array gaps_of<IB_AV>{BEHIND(IB_AV, Attr.grh_valid)};
template <>
inline constexpr std::array gaps_of<ib_av_query_t>{BETWEEN(ib_av_query_t, size, h_pd),
                                                   BEHIND(ib_av_query_t, attr.grh_valid)};
template <>
inline constexpr std::array gaps_of<ib_qp_attr_t>{
    BETWEEN(ib_qp_attr_t, alternate_pkey_index, primary_av),
    BETWEEN(ib_qp_attr_t, primary_av.grh_valid, alternate_av),
    BETWEEN(ib_qp_attr_t, alternate_av.grh_valid, primary_port),
    BETWEEN(ib_qp_attr_t, sq_signaled, h_xrcd)};
template <>
inline constexpr std::array gaps_of<ib_srq_attr_t>{BEHIND(ib_srq_attr_t, num)};
template <>
inline constexpr std::array gaps_of<IB_MCAST>{BEHIND(IB_MCAST, Lid)};
template <>
inline constexpr std::array gaps_of<IB_MAD_AGENT>{
    BETWEEN(IB_MAD_AGENT, Attr.Oui, Attr.MethodMask), BETWEEN(IB_MAD_AGENT, Attr.QpKind, Attr.Keys),
    BETWEEN(IB_MAD_AGENT, Attr.Keys.PKey, Attr.Keys.QKey)};
template <>
inline constexpr std::array gaps_of<IB_MAD_RECEIVE>{BETWEEN(IB_MAD_RECEIVE, Lost, From),
                                                    BEHIND(IB_MAD_RECEIVE, From.TrafficClass)};

#undef MEMBER_END
#undef BETWEEN
#undef BEHIND

/// Clears the gaps of a structure at `bytes`, of which only the first `size` exist.
template <class Structure>
void clear_gaps(void* bytes, std::size_t size) {
    static_assert(std::has_unique_object_representations_v<Structure> == gaps_of<Structure>.empty(),
                  "the structure has bytes that belong to no member");
    for (const gap& each : gaps_of<Structure>)
        if (each.last <= size)
            std::memset(static_cast<std::byte*>(bytes) + each.first, 0, each.last - each.first);
}

} // namespace irpverbs::ci::crossing
