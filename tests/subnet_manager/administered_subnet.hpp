// The built-in fabric under a subnet manager, and a client of its SA.
#pragma once

#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <support/both_machines.hpp>

#include <utility>

namespace irpverbs::testing {

/// host1 has two ports, the switches have eight, with two hosts each and two cables between them.
/// The manager is on host1, `client` on host3.
class AdministeredSubnet : public BothMachines {
protected:
    explicit AdministeredSubnet(subnet_manager::manager_options options = {})
        : manager(on_first(std::move(options))) {}

    ib_gid_t gid(std::size_t hca) const {
        return {IB_DEFAULT_GID_PREFIX, port_block(open_hca(hcas.fdo(hca)), 1)->PortGuid};
    }
    ib_lid_t lid(std::size_t hca) const { return open_hca(hcas.fdo(hca)).lid(); }

private:
    subnet_manager::manager_options on_first(subnet_manager::manager_options options) const {
        options.hca = hcas.guid(0);
        return options;
    }

protected:
    attached hcas{unmanaged()};
    running_manager manager;
    NTSTATUS up = manager.wait_until_up();
    sa_client client{hcas.guid(2), lid(0)};
};

} // namespace irpverbs::testing
