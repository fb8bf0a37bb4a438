// The P_Key access check of the SA: a requester or subscriber receives records and Reports only of
// ports that share a P_Key with its own port. Rules as in OpenSM. Source: IBA 15.4.1.2 (access
// restrictions), 13.4.11 (Reports).
#pragma once

#include <model/subnet.hpp>

namespace irpverbs::subnet_manager {

/// Valid as long as the subnet is.
class pkey_access {
public:
    pkey_access(const subnet& net, port_ref at);

    port_ref port() const { return at_; }
    /// Whether the requester may see a port, which may be an external port of a switch. Only a
    /// requester that may see all ports may see an unknown one.
    bool may_see(port_ref port) const;
    /// Whether the requester holds the key, as a full or a limited member.
    bool holds(ib_pkey_t key) const { return holds_key(keys_, key); }
    const std::vector<ib_pkey_t>& keys() const { return keys_; }

private:
    bool shares_key(port_ref end) const;

    const subnet& net_;
    const port_ref at_;
    const std::vector<ib_pkey_t> keys_;
    const bool may_see_all_;
};

} // namespace irpverbs::subnet_manager
