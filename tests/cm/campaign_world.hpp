// The world of the campaigns of connections and resolutions.
#pragma once

#include "cm_end.hpp"

#include <dispatch/sim_machine.hpp>
#include <hca/software.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>

namespace irpverbs::testing {

/// Two ends and a cable between them that may have faults, in a simulated run.
struct campaign_world {
    explicit campaign_world(dispatch::sim_machine& its_sim) : sim(its_sim) {}

    std::uint64_t drawn(std::uint64_t below) { return sim.random() % below; }

    void make_faulty() {
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = 4;
        faults.DuplicationOnceIn = 4;
        faults.ReorderingOnceIn = 4;
        faults.ReorderingTime = 200'000; // more than a retry
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &faults), STATUS_SUCCESS);
    }
    void mend() { EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, nullptr), STATUS_SUCCESS); }

    static bool is_one_of(NTSTATUS status, std::initializer_list<NTSTATUS> all) {
        return std::find(all.begin(), all.end(), status) != all.end();
    }
    void expect_all_forgotten() {
        sim.end_delays();
        mend();
        let_pass_ms(300'000);
        EXPECT_EQ(ends.first.counters().connections, 0u);
        EXPECT_EQ(ends.second.counters().connections, 0u);
        EXPECT_EQ(ends.first.counters().resolutions, 0u);
        EXPECT_EQ(ends.second.counters().resolutions, 0u);
    }

    dispatch::sim_machine& sim;
    attached hcas;
    two_ends ends{hcas};
    std::atomic<bool> stop{false};
    std::atomic<int> succeeded{0};
};

} // namespace irpverbs::testing
