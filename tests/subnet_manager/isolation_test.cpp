// Isolation by partitions: P_Key tables of ports, and of the switch ports in front of them.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <hca/software.h>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class Isolation : public BothMachines {
protected:
    ib_pkey_t key(std::size_t host, unsigned index) const {
        const open_hca ca(hcas.fdo(host));
        return IbPortPKey(&*port_block(ca, 1), index);
    }
    ib_lid_t lid(std::size_t host) const { return open_hca(hcas.fdo(host)).lid(); }

    attached hcas{unmanaged()};
};

// After its boot an adapter holds the default P_Key as a full member.
TEST_P(Isolation, Partitions_PortInNone_HoldsNoKey) {
    running_manager manager({.hca = hcas.guid(0), .partitions = "Default=0x7fff : SELF=full ;"});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    EXPECT_EQ(key(0, 0), 0xFFFF);
    EXPECT_EQ(key(2, 0), 0);
    EXPECT_FALSE(manager->status().incomplete);
}

TEST_P(Isolation, Partitions_NextManagerKnowsFewer_RemovesTheOthers) {
    {
        running_manager first({.hca = hcas.guid(0),
                               .partitions = "Default=0x7fff : ALL=full ;\n"
                                             "Work=0x1234 : ALL_CAS=full ;"});
        ASSERT_EQ(first.wait_until_up(), STATUS_SUCCESS);
        EXPECT_EQ(key(2, 1), 0x9234);
    }
    running_manager second({.hca = hcas.guid(0), .partitions = "Default=0x7fff : SELF=full ;"});
    ASSERT_EQ(second.wait_until_up(), STATUS_SUCCESS);
    EXPECT_EQ(key(2, 0), 0);
    EXPECT_EQ(key(2, 1), 0);
}

// A host may write its own table; the switch in front of it still drops the datagrams.
TEST_P(Isolation, Partitions_HostGivesItselfAKey_SwitchDropsItsDatagrams) {
    running_manager manager({.hca = hcas.guid(0),
                             .partitions = "Default=0x7fff : ALL=limited, SELF=full ;\n"
                                           "Work=0x1234 : SELF=full ;"});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const open_hca self(hcas.fdo(0)), rogue(hcas.fdo(2));
    mad_client receiver(self, agent_of(vendor_class, {3}));
    mad_client sender(rogue, agent_of(vendor_class));
    EXPECT_EQ(HcaSoftwareChangePKey(hcas.guid(2), 1, 1, 0x9234), STATUS_SUCCESS);
    IB_MAD_ADDRESS to = to_lid(self.lid());
    to.PKeyIndex = 1;
    EXPECT_EQ(sender.send(to, mad(vendor_class, 3, 1)), STATUS_SUCCESS);
    to.PKeyIndex = 0; // a limited member of the partition of the manager
    EXPECT_EQ(sender.send(to, mad(vendor_class, 3, 2)), STATUS_SUCCESS);
    EXPECT_EQ(receiver.receive().data.get<2>(16), 2u);
}

// Switch ports enforce partitions towards hosts, not towards switches.
TEST_P(Isolation, Partitions_SwitchPorts_EnforceTowardsHostsOnly) {
    running_manager manager({.hca = hcas.guid(0)});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    sa_client client(hcas.guid(2), lid(0));
    constexpr std::uint8_t both_ways = 0xC;
    unsigned enforcing = 0;
    for (const auto& each : client.table<sa_portinfo_record_t>()) {
        const std::uint8_t checks = each.PortInfo.PartitionChecks;
        EXPECT_TRUE(checks == 0 || checks == both_ways);
        enforcing += checks == both_ways ? 1 : 0;
    }
    EXPECT_EQ(enforcing, 5u); // host1 has two ports
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(Isolation);

} // namespace
