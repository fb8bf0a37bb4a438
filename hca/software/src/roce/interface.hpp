// A network interface of this machine, and its addresses as GIDs.
#pragma once

#include "hardware_address.hpp"

#include <optional>
#include <string>
#include <vector>

namespace irpverbs::hca_software::roce {

struct interface {
    std::string name;
    unsigned index = 0;
    ib_guid_t guid = 0;          // of its hardware address, or else of its first address
    ULONG mtu = 0;               // bytes of an IP packet
    hardware_address hardware{}; // zeros: it has none of Ethernet
    bool is_enabled = false;     // by its administrator
    bool is_up = false;          // and it has a carrier
    std::vector<ib_gid_t> gids;  // the link-local IPv6 address first
};

/// Finds an interface by its name; or by one of its addresses, which then is its only one, and any
/// of 127.0.0.0/8 is. None: there is no such interface.
std::optional<interface> find_interface(const std::string& name_or_address);

/// Returns the GID of an address as text; none: it is none.
std::optional<ib_gid_t> gid_of_text(const std::string& address);

/// The address as text.
std::string text_of(const ib_gid_t& gid);

bool is_link_local(const ib_gid_t& gid);

/// Returns the greatest IB_MTU_* whose packets are not longer than `mtu` bytes; 0: none.
UCHAR path_mtu_of(ULONG mtu);

} // namespace irpverbs::hca_software::roce
