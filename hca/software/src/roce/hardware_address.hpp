// Hardware addresses of Ethernet, those of groups of IP, and the identifiers that are made of them.
#pragma once

#include <ci/ib_types.h>

#include <array>

namespace irpverbs::hca_software::roce {

using hardware_address = std::array<UCHAR, 6>;

inline constexpr hardware_address broadcast_address{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

/// The address that stands in the six bytes there.
hardware_address hardware_at(const UCHAR* from);

/// True for the address of a group, and for that of all hosts.
inline bool is_group(const hardware_address& address) { return (address[0] & 1) != 0; }

/// The hardware address of a group of IP. Source: RFC 1112, RFC 2464.
hardware_address hardware_of_group(const ib_gid_t& group);

/// The modified EUI-64, which is the GUID of a port and the identifier in a link-local address.
/// Source: RFC 4291, appendix A.
ib_guid_t eui64_of(const hardware_address& address);

} // namespace irpverbs::hca_software::roce
