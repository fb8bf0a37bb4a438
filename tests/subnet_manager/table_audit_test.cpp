// Light sweeps find tables and settings of ports that the manager did not write last, and write
// them again.
#include "../hca/subnet_client.hpp"
#include "managed_fabric.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;

class TableAudit : public BothMachines {};

TEST_P(TableAudit, LinearTable_OverwrittenByAnOldSet_IsRestored) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const open_hca last(hcas.fdo(3));
    subnet_client asks(last);
    const mad good = asks.get({1}, sm_linear_table, 0);
    mad bad = good;
    for (std::size_t lid = 1; lid < 8; ++lid)
        bad[smp_data + lid] = 0xFF;
    EXPECT_EQ(asks.set({1}, sm_linear_table, 0, bad).status(), 0);
    EXPECT_TRUE(eventually([&] {
        const mad now = asks.get({1}, sm_linear_table, 0);
        return std::equal(now.begin() + smp_data, now.begin() + smp_data + 64,
                          good.begin() + smp_data);
    }));
}

// The TrapRepress does not reach the issuer, so its trap is repeated, and each one causes a sweep.
TEST_P(TableAudit, RouteToIssuerOfARepeatedTrapOverwritten_IsRestored) {
    const attached hcas(unmanaged());
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 3000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const open_hca issuer(hcas.fdo(3));
    subnet_client asks(issuer);
    constexpr UCHAR cable = 7; // to the manager's switch
    const std::size_t at = smp_data + issuer.lid();
    const mad good = asks.get({1, cable}, sm_linear_table, 0);
    mad bad = good;
    bad[at] = 0xFF;
    EXPECT_EQ(asks.set({1, cable}, sm_linear_table, 0, bad).status(), 0);
    IB_MODIFY_PORT port{};
    port.SetCapabilities = IB_PORT_CAP_CM_SUP;
    verb_call(
        [&](IRP* irp) { return CiModifyPort(issuer, 1, IB_MODIFY_PORT_CAPABILITIES, &port, irp); });
    EXPECT_TRUE(eventually([&] {
        return asks.get({1, cable}, sm_linear_table, 0)[at] == good[at];
    }));
}

// 18 blocks of routes and more than 200 others; nine light sweeps are a second for each of six, for
// the sweep that writes the block again, and two to spare.
TEST_P(TableAudit, LinearTableOfALargerFabric_OverwrittenByAnOldSet_IsRestoredInNineLightSweeps) {
    const topology_file file(fat_tree_file(4, 2, 40));
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0), .light_sweep_ms = 1000});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const open_hca last(hcas.fdo(hcas.count() - 1));
    subnet_client asks(last);
    for (const ULONG block : {2u, 0u, 1u}) {
        const mad good = asks.get({1}, sm_linear_table, block);
        mad bad = good;
        std::fill_n(bad.begin() + smp_data, 64, UCHAR{0xFF});
        EXPECT_EQ(asks.set({1}, sm_linear_table, block, bad).status(), 0);
        LARGE_INTEGER due;
        due.QuadPart = -90'000'000;
        KeDelayExecutionThread(KernelMode, FALSE, &due);
        const mad now = asks.get({1}, sm_linear_table, block);
        EXPECT_TRUE(std::equal(now.begin() + smp_data, now.begin() + smp_data + 64,
                               good.begin() + smp_data))
            << block;
    }
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(TableAudit);

} // namespace
