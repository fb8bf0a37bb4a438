// The responses of the subnet administration over links that lose datagrams. In virtual time.
#include "managed_fabric.hpp"
#include "sa_client.hpp"

#include <hca/software.h>
#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class LossyLink : public BothMachines {};

void lose_once_in(const attached& hcas, std::size_t host, ULONG datagrams) {
    HCA_SOFTWARE_FAULTS faults{};
    faults.LossOnceIn = datagrams;
    EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(host), 1, &faults), STATUS_SUCCESS);
}

TEST_P(LossyLink, Table_SegmentsAndAcknowledgementsLost_EveryTableArrivesWhole) {
    const topology_file file(fat_tree_file(4, 2, 5));
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0)});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    sa_client client(hcas.guid(7), open_hca(hcas.fdo(0)).lid());
    client.times = irpverbs::saa::default_retrans; // outlasts the server's own repeats
    lose_once_in(hcas, 7, 10);
    unsigned whole = 0;
    for (int i = 0; i < 100; ++i)
        whole += client.ask(SA_SUBN_ADM_GET_TABLE, SA_NODERECORD_ATTRID,
                            std::vector<std::uint8_t>(200), 0)
                             .records<sa_node_record_t>()
                             .size() == 26
                     ? 1
                     : 0;
    EXPECT_EQ(whole, 100u);
}

TEST_P(LossyLink, Table_PeerDiesInTheMiddle_OthersReceiveTheirsAndTheManagerEnds) {
    const topology_file file(fat_tree_file(4, 2, 5));
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0)});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const ib_lid_t sa = open_hca(hcas.fdo(0)).lid();
    sa_client dies(hcas.guid(7), sa), lives(hcas.guid(8), sa);
    HCA_SOFTWARE_FAULTS slow{};
    slow.Delay = 10'000;
    EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(7), 1, &slow), STATUS_SUCCESS);
    sa_response last;
    {
        const system_thread asks([&] {
            last = dies.ask(SA_SUBN_ADM_GET_TABLE, SA_PATHRECORD_ATTRID,
                            std::vector<std::uint8_t>(200), 0);
        });
        LARGE_INTEGER due;
        due.QuadPart = -10'000 * 25; // the request has arrived, and so have the first segments
        KeDelayExecutionThread(KernelMode, FALSE, &due);
        HcaSoftwareSetLink(hcas.guid(7), 1, FALSE);
        EXPECT_GE(lives.table<sa_node_record_t>().size(), 25u);
    }
    EXPECT_NE(last.code, IBMF_SUCCESS);
    EXPECT_EQ(manager.stop(), STATUS_SUCCESS);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(LossyLink);

} // namespace
