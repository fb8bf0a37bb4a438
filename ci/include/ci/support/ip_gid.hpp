// GIDs that are addresses of IP, and those of multicast groups.
#ifndef IRPVERBS_CI_SUPPORT_IP_GID_HPP
#define IRPVERBS_CI_SUPPORT_IP_GID_HPP

#include <ci/ib_types.h>

namespace irpverbs::ci {

/// True for an IPv4 address that is mapped into a GID.
inline bool is_ipv4(const ib_gid_t& gid) {
    return gid.gid_prefix == 0 && gid.gid_guid >> 32 == 0xFFFF;
}

/// True for a multicast GID, whose prefix begins with 0xFF, and for an IPv4 group (224.0.0.0/4)
/// that is mapped into a GID, on Ethernet. Source: IBA 4.1.1, A17.
inline bool is_group(const ib_gid_t& gid) {
    return is_ipv4(gid) ? (gid.gid_guid >> 28 & 0xF) == 0xE : gid.gid_prefix >> 56 == 0xFF;
}

} // namespace irpverbs::ci

#endif
