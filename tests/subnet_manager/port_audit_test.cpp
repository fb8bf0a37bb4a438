// Light sweeps find settings of ports that the manager did not write last, and write them again.
#include "../hca/subnet_client.hpp"
#include "managed_fabric.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class PortAudit : public BothMachines {};

// A Set that an earlier master had sent arrives late: the clients of each port would query a
// manager that does not respond.
TEST_P(PortAudit, MasterSmLidOverwrittenByAnOldSet_IsRestored) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const ib_lid_t master = manager->status().lid;
    for (std::size_t i = 1; i < hcas.count(); ++i) {
        const open_hca host(hcas.fdo(i));
        constexpr std::size_t master_lid = smp_data + 18;
        subnet_client(host).modify({}, sm_port_info, 1,
                                   [&](mad& info) { info.put<2>(master_lid, host.lid()); });
        EXPECT_EQ(port_block(host, 1)->SmLid, host.lid());
        EXPECT_TRUE(eventually([&] { return port_block(host, 1)->SmLid == master; })) << i;
    }
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(PortAudit);

} // namespace
