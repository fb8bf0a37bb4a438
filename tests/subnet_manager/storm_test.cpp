// A client sends all queries at once to a subnet administration that has just started.
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/choices.hpp>
#include <hca/software.h>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::machine;
using irpverbs::dispatch::random_choices;
using irpverbs::dispatch::sim_machine;
using path_access = test_access<sa_path_record_t>;

constexpr unsigned leaves = 10;
constexpr unsigned hosts_per_leaf = 10;
constexpr unsigned host_count = leaves * hosts_per_leaf;
constexpr unsigned queries = host_count * host_count;

ULONGLONG packets_sent(ib_guid_t hca) {
    HCA_SOFTWARE_COUNTERS counters{};
    EXPECT_EQ(HcaSoftwareCounters(hca, 1, &counters), STATUS_SUCCESS);
    return counters.TransmitPackets;
}

std::vector<ib_gid_t> gids_of(const attached& hcas) {
    std::vector<ib_gid_t> gids;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        gids.push_back(gid_of(port_block(open_hca(hcas.fdo(i)), 1)->PortGuid));
    return gids;
}

std::unique_ptr<path_access> path_between(const ib_gid_t& from, const ib_gid_t& to) {
    sa_path_record_t wanted{};
    wanted.SGID = from;
    wanted.DGID = to;
    return std::make_unique<path_access>(SA_PATHRECORD_ATTRID, wanted,
                                         SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID);
}

// 10,000 queries, all different, all at once: each is answered, and sent once. A table's response
// is acknowledged, so two datagrams per query leave the port.
TEST(SaQueryLoad, TenThousandDistinctQueries_NoneFailsOrRepeats) {
    random_choices chance{1};
    sim_machine::options chosen;
    chosen.step_limit = 50'000'000;
    sim_machine sim(chance, chosen);
    const machine::scope inside(sim);
    const topology_file file(fat_tree_file(leaves, 4, hosts_per_leaf));
    const attached hcas(unmanaged(file.path()));
    running_manager manager({.hca = hcas.guid(0)});
    ASSERT_EQ(manager.wait_until_up(), STATUS_SUCCESS);
    const std::vector<ib_gid_t> gids = gids_of(hcas);
    ASSERT_EQ(gids.size(), host_count);
    const session_scope session(nullptr, 0, gids[7].gid_guid);
    const ULONGLONG sent_before = packets_sent(hcas.guid(7));
    std::vector<std::unique_ptr<path_access>> all;
    for (const ib_gid_t& from : gids)
        for (const ib_gid_t& to : gids) {
            all.push_back(path_between(from, to));
            ASSERT_EQ(all.back()->begin(session), IBMF_SUCCESS);
        }
    unsigned completed = 0;
    for (const auto& each : all)
        completed += each->status() == IBMF_SUCCESS && each->records().size() == 1 ? 1 : 0;
    EXPECT_EQ(completed, queries);
    constexpr unsigned own = 1; // ClassPortInfo
    const ibmf_saa_stats_t stats = session.stats();
    EXPECT_EQ(stats.ss_queries, queries + own);
    EXPECT_EQ(stats.ss_merged, 0u);
    EXPECT_EQ(stats.ss_resent, 0u);
    EXPECT_LE(packets_sent(hcas.guid(7)) - sent_before, 2u * queries + own);
}

} // namespace
