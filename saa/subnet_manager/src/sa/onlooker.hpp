// Who asks, or is told, and what of the subnet he may know: the ports that share a P_Key with his.
// Rules as OpenSM has them. Source: IBA 15.4.1.2 (access restrictions), 13.4.11 (Reports).
#pragma once

#include <model/subnet.hpp>

namespace irpverbs::subnet_manager {

/// Valid as long as the subnet is.
class onlooker {
public:
    onlooker(const subnet& net, port_ref at);

    port_ref port() const { return at_; }
    /// Any port, outer ones of switches included; one that nobody knows is seen by who sees all.
    bool sees(port_ref port) const;
    /// As a full or a limited member.
    bool holds(ib_pkey_t key) const { return holds_key(keys_, key); }
    const std::vector<ib_pkey_t>& keys() const { return keys_; }

private:
    bool shares_key(port_ref end) const;

    const subnet& net_;
    const port_ref at_;
    const std::vector<ib_pkey_t> keys_;
    const bool sees_all_;
};

} // namespace irpverbs::subnet_manager
