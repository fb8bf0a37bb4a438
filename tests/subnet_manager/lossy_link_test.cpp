// What the subnet administration answers over links that lose datagrams. In virtual time.
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

IRPVERBS_ON_THE_SIMULATED_MACHINE(LossyLink);

} // namespace
