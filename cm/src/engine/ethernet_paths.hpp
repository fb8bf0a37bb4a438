// Paths over Ethernet: a GID is an IP address, and there are neither LIDs nor an SA.
#pragma once

#include <ci/address.h>
#include <saa/sa_recs.h>

#include <cstdint>
#include <optional>
#include <span>

namespace irpverbs::cm::engine {

/// True for an IPv4 address, which is mapped into IPv6.
bool is_ipv4(const ib_gid_t& gid);

/// The address among a port's own from which packets reach `to`: one of the same kind (IPv4,
/// link-local or other IPv6), with the longest prefix in common. No value: there is none.
std::optional<ib_gid_t> source_address(std::span<const ib_gid_t> own, const ib_gid_t& to);

/// The path between two addresses.
sa_path_record_t ethernet_path(const ib_gid_t& from, const ib_gid_t& to, std::uint8_t mtu);

/// Makes the path of a client or a peer one over Ethernet: without LIDs, with a global route.
void remove_lids(sa_path_record_t& path);

} // namespace irpverbs::cm::engine
