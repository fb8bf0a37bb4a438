#include "pkey_access.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

// Whether the port is a full member of a partition of all ports, as without a partitions.conf.
bool shares_with_all(const partition_table& table, std::span<const ib_pkey_t> keys) {
    constexpr ib_pkey_t full = 0x8000;
    return std::ranges::any_of(keys, [&](ib_pkey_t key) {
        const partition* const in = table.find(key);
        return (key & full) != 0 && in != nullptr && in->all != membership::none;
    });
}

} // namespace

pkey_access::pkey_access(const subnet& net, port_ref at)
    : net_(net), at_(at), keys_(net.keys_of(at)),
      may_see_all_(shares_with_all(net.partitions, keys_)) {}

bool pkey_access::shares_key(port_ref end) const {
    return shared_key(keys_, net_.keys_of(end)).has_value();
}

// An external port of a switch has the P_Keys of the attached host. External ports without a host
// have no P_Keys of their own, and every requester may see them.
bool pkey_access::may_see(port_ref port) const {
    if (may_see_all_ || port == at_) return true;
    if (!port.valid()) return false;
    if (net_.nodes[port.node].is_switch() && port.port != 0) {
        const port_ref peer = net_.nodes.at(port).peer;
        return !peer.valid() || net_.nodes[peer.node].is_switch() || shares_key(peer);
    }
    return shares_key(port);
}

} // namespace irpverbs::subnet_manager
