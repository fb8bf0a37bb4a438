// Transactions and transfers between two hosts of the software fabric, over cables that lose,
// duplicate, delay and reorder datagrams, fall silent and break.
#include "table_agent.hpp"

#include <hca/software.h>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>
#include <support/verbs.hpp>

#include <deque>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

constexpr ULONGLONG millisecond = 10'000;
constexpr std::size_t requests = 3;

// 25 ms for a response, then 50 and 100; two and a half times as much in total (decisions/ibmf.md).
constexpr ibmf_retrans_t of_a_request{2, 20'000, 5'000, 0};
constexpr ULONGLONG time_of_a_request = 5 * (25 + 50 + 100) / 2 * millisecond;
constexpr ibmf_retrans_t of_a_transfer{6, 20'000, 5'000, 2'000'000};
constexpr ULONGLONG time_of_a_transfer = 2000 * millisecond;

ib_lid_t lid_of(DEVICE_OBJECT* fdo) {
    IB_CA* ca = open_ca(fdo);
    const ib_lid_t lid = port_block(ca, 1)->Lid;
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    return lid;
}

HCA_SOFTWARE_FAULTS lossy_fabric() {
    HCA_SOFTWARE_FAULTS faults{};
    faults.Jitter = 300;
    faults.LossOnceIn = 12;
    faults.DuplicationOnceIn = 6;
    faults.ReorderingOnceIn = 6;
    faults.ReorderingTime = 1000;
    faults.PartitionOnceIn = 60;
    faults.PartitionTime = 5000;
    faults.FlapOnceIn = 60;
    faults.FlapTime = 5000;
    return faults;
}

/// host1 sends requests to host3, which is behind the other switch.
class two_hosts {
public:
    two_hosts() {
        tables.resize(4000);
        for (std::size_t i = 0; i < requests; ++i) {
            asked.emplace_back(asker.handle, request(MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 10 + i));
            asked_again.emplace_back(asker.handle,
                                     request(MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 20 + i));
        }
    }

    enum cable { of_host1, between_switches, of_host3, cables };
    void spoil(cable which, const HCA_SOFTWARE_FAULTS& faults) {
        constexpr ib_guid_t switch1 = 0x0200000000000000 + (5 << 8);
        const std::pair<ib_guid_t, UCHAR> ends[cables]{
            {fabric.guid(0), 1}, {switch1, 7}, {fabric.guid(2), 1}};
        EXPECT_EQ(HcaSoftwareSetFaults(ends[which].first, ends[which].second, &faults),
                  STATUS_SUCCESS);
    }

    void ask(std::size_t which) {
        note(asked[which], asked[which].send(IBMF_MSG_TRANS_FLAG_SEQ, of_a_request));
    }
    /// Called after the delays: only the fabric's faults cost a request its response. Returns the
    /// number of requests and transfers that completed.
    std::size_t ask_all_again() {
        for (test_message& each : asked_again)
            note(each, each.send(IBMF_MSG_TRANS_FLAG_SEQ, of_a_request));
        note(table_again, table_again.send(IBMF_MSG_TRANS_FLAG_SEQ, of_a_transfer));
        note(both_again,
             both_again.send(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, of_a_transfer));
        std::size_t whole = 0;
        for (test_message& each : asked_again)
            whole += completed_in_time(each, time_of_a_request) ? 1 : 0;
        for (test_message* each : {&table_again, &both_again})
            whole += completed_in_time(*each, time_of_a_transfer) ? 1 : 0;
        return whole;
    }
    void ask_for_table() { note(table, table.send(IBMF_MSG_TRANS_FLAG_SEQ, of_a_transfer)); }
    void send_and_ask_for_table() {
        note(both, both.send(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, of_a_transfer));
    }

    /// The invariants at the end of a run. `late`: how much a callback may exceed its deadline.
    void expect_each_completed_once(ULONGLONG late) {
        for (test_message& each : asked) {
            const bool whole = completed_in_time(each, time_of_a_request + late);
            if (whole) {
                EXPECT_TRUE(
                    std::ranges::equal(each.received().first(each.data().size()), each.data()));
            }
        }
        for (test_message* each : {&table, &both}) {
            const bool whole = completed_in_time(*each, time_of_a_transfer + late);
            if (whole) {
                EXPECT_TRUE(std::ranges::equal(each->received(), tables.table()));
            }
        }
    }
    void expect_nothing_left() const {
        for (const client_scope* each :
             std::initializer_list<const client_scope*>{&asker, &manager, &responder, &tables}) {
            EXPECT_EQ(each->stats().st_transactions, 0u);
            const ibmf_stats_t left = each->stats(B_TRUE);
            EXPECT_EQ(left.st_in_flight + left.st_queued + left.st_sends_active, 0u);
        }
    }
    std::size_t completed() const { return completed_; }

private:
    request_of request(std::uint8_t mgmt_class, std::uint8_t method, std::uint64_t tid,
                       std::size_t size = 64) const {
        return {mgmt_class, method, tid, lid, size};
    }
    // The port may be down at this moment.
    void note(test_message& msg, int status) {
        EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BAD_PORT_STATE) << status;
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock_);
        if (status == IBMF_SUCCESS) begun_.push_back(&msg);
        KeReleaseSpinLock(&lock_, level);
    }
    // Returns whether the callback came with a response.
    bool completed_in_time(test_message& msg, ULONGLONG most) {
        const bool begun = std::ranges::find(begun_, &msg) != begun_.end();
        if (begun) msg.wait();
        EXPECT_EQ(msg.calls(), begun ? 1 : 0);
        if (!begun) return false;
        EXPECT_LE(msg.took(), most);
        const int status = msg.status();
        EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_TRANS_TIMEOUT ||
                    status == IBMF_TRANS_FAILURE || status == IBMF_BAD_PORT_STATE)
            << status;
        completed_ += status == IBMF_SUCCESS ? 1 : 0;
        return status == IBMF_SUCCESS;
    }

    attached fabric;
    ib_lid_t lid = lid_of(fabric.fdo(2));
    echo_agent responder{ibmf_register_info_t{fabric.guid(2), 1, PERF_AGENT}};
    table_agent tables{ibmf_register_info_t{fabric.guid(2), 1, SUBN_ADM_AGENT}};
    client_scope asker{ibmf_register_info_t{fabric.guid(0), 1, PERF_MANAGER}};
    client_scope manager{ibmf_register_info_t{fabric.guid(0), 1, SUBN_ADM_MANAGER},
                         IBMF_REG_FLAG_RMPP};
    std::deque<test_message> asked;
    std::deque<test_message> asked_again;
    test_message table{manager.handle, request(MAD_MGMT_CLASS_SUBN_ADM, 0x12, 1)};
    test_message both{manager.handle, request(MAD_MGMT_CLASS_SUBN_ADM, 0x14, 2, 1500)};
    test_message table_again{manager.handle, request(MAD_MGMT_CLASS_SUBN_ADM, 0x12, 3)};
    test_message both_again{manager.handle, request(MAD_MGMT_CLASS_SUBN_ADM, 0x14, 4, 1500)};
    KSPIN_LOCK lock_ = 0;
    std::vector<const test_message*> begun_;
    std::size_t completed_ = 0;
};

TEST(IbmfFabricCampaign, FaultyFabric_EachRequestCompletesOnceBeforeDeadline) {
    explore_options options;
    options.random_runs = 1500;
    options.pct_runs = 200;
    std::size_t completed = 0;
    std::size_t runs = 0;
    expect_explored(options, [&](sim_machine& sim) {
        two_hosts world;
        world.spoil(static_cast<two_hosts::cable>(sim.source().pick(two_hosts::cables, "cable")),
                    lossy_fabric());
        for (std::size_t i = 0; i < requests; ++i)
            sim.spawn("ask", [&world, i] { world.ask(i); });
        sim.spawn("table", [&] { world.ask_for_table(); });
        sim.spawn("double-sided", [&] { world.send_and_ask_for_table(); });
        sim.run();
        sim.end_delays();
        world.expect_each_completed_once(sim.delayed_time());
        world.expect_nothing_left();
        sim.spawn("again", [&] { completed += world.ask_all_again(); });
        sim.run();
        world.expect_nothing_left();
        ++runs;
    });
    EXPECT_GT(completed, runs * (requests + 2) * 9 / 10);
    EXPECT_LT(completed, runs * (requests + 2));
}

class IbmfFaultyFabric : public BothMachines {};

TEST_P(IbmfFaultyFabric, FaultyFabric_EachRequestCompletesOnce) {
    two_hosts world;
    HCA_SOFTWARE_FAULTS faults = lossy_fabric();
    faults.FlapOnceIn = 0; // a port that is down refuses requests
    faults.Seed = 3;
    world.spoil(two_hosts::between_switches, faults);
    for (std::size_t i = 0; i < requests; ++i)
        world.ask(i);
    world.ask_for_table();
    world.send_and_ask_for_table();
    constexpr ULONGLONG a_busy_machine = 60'000 * millisecond;
    world.expect_each_completed_once(simulated() ? 0 : a_busy_machine);
    EXPECT_GT(world.completed(), 0u);
}

IRPVERBS_ON_BOTH_MACHINES(IbmfFaultyFabric);

} // namespace
