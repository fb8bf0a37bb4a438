// A fabric with two subnet managers, on which cables break and are repaired, managers stop and
// start, and datagrams are lost, duplicated and reordered, in drawn order and virtual time. A
// subscriber learns from events alone which hosts are present; when a loss is reported it queries
// the SA. In the end its view is right, and so are the paths.
//
// IRPVERBS_SEEDS=N subnet_manager_test --gtest_filter='SubnetFaultCampaign.*' makes N times as many
// runs of it.
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <hca/software.h>
#include <support/explore_gtest.hpp>

#include <optional>
#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

void sleep_ms(std::uint64_t time) {
    LARGE_INTEGER due;
    due.QuadPart = -static_cast<LONGLONG>(time * 10'000);
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

irpverbs::subnet_manager::manager_options quick(ib_guid_t hca) {
    return {.hca = hca, .standby_poll_ms = 500, .standby_retries = 2, .light_sweep_ms = 3000};
}

/// The hosts that are present in a subscriber's view.
class watcher {
public:
    watcher(const attached& hcas, std::size_t host, bool ignores_leaving)
        : ignores_leaving_(ignores_leaving),
          session(&args_, IBMF_SAA_SESSION_CACHED_PATHS, hcas.guid(host) + 1) {
        sleep_ms(1000); // has subscribed by then
        ask();
    }

    /// A query without a response is repeated at the next event, and at the end.
    const std::set<ib_guid_t>& present() {
        for (int i = 0; i < 60 && stale_; ++i) {
            ask();
            sleep_ms(500);
        }
        return present_;
    }

private:
    static void on_event(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<watcher*>(context);
        const ib_guid_t guid = details->ie_gid.gid_guid;
        if (what == IBMF_SAA_EVENT_GID_AVAILABLE) self.present_.insert(guid);
        if (what == IBMF_SAA_EVENT_GID_UNAVAILABLE && !self.ignores_leaving_)
            self.present_.erase(guid);
        if (what == IBMF_SAA_EVENT_LOST || what == IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG)
            self.stale_ = true;
        if (self.stale_ && self.session.handle != nullptr) self.ask();
    }
    void ask() {
        test_access<sa_node_record_t> access(SA_NODERECORD_ATTRID, {}, 0);
        if (access.ask(session) != IBMF_SUCCESS) return;
        present_.clear();
        for (const sa_node_record_t& each : access.records())
            present_.insert(each.NodeInfo.PortGUID);
        stale_ = false;
    }

    const bool ignores_leaving_; // planted: ignores ports that leave
    std::set<ib_guid_t> present_;
    std::atomic<bool> stale_{false};
    ibmf_saa_subnet_event_args_t args_{on_event, this};

public:
    const session_scope session;
};

struct faulty_fabric {
    faulty_fabric(sim_machine& its_sim, bool ignores_leaving) : sim(its_sim) {
        one.emplace(quick(hcas.guid(0)));
        one->wait_until_up();
        other.emplace(quick(hcas.guid(3)));
        other->wait_until_up();
        subscriber.emplace(hcas, 1, ignores_leaving);
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = faults.DuplicationOnceIn = faults.ReorderingOnceIn = 20;
        faults.ReorderingTime = 1000;
        set_faults(faults);
    }

    std::uint64_t drawn(std::uint64_t below) { return sim.random() % below; }

    void set_faults(const HCA_SOFTWARE_FAULTS& faults) {
        for (std::size_t i = 0; i < hcas.count(); ++i)
            HcaSoftwareSetFaults(hcas.guid(i), 1, &faults);
    }
    void set_link(std::size_t host, bool up) { HcaSoftwareSetLink(hcas.guid(host), 1, up); }

    /// Disturbs both managers' hosts, the subscriber's host, and one host without a role.
    void inject_faults() {
        for (int i = 0; i < 4; ++i) {
            sleep_ms(drawn(3000));
            const std::size_t host = drawn(4);
            switch (drawn(3)) {
            case 0:
                set_link(host, false);
                sleep_ms(drawn(4) == 0 ? 0 : drawn(6000));
                set_link(host, true);
                break;
            case 1:
                one.reset();
                sleep_ms(drawn(6000));
                one.emplace(quick(hcas.guid(0)));
                break;
            case 2:
                other.reset();
                sleep_ms(drawn(6000));
                other.emplace(quick(hcas.guid(3)));
                break;
            }
        }
    }

    void send_queries() {
        for (int i = 0; i < 6; ++i) {
            sa_path_record_t wanted{};
            wanted.SGID = gid_of(hcas.guid(1) + 1);
            wanted.DGID = gid_of(hcas.guid(drawn(4)) + 1);
            test_access<sa_path_record_t> access(SA_PATHRECORD_ATTRID, wanted,
                                                 SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID);
            if (access.begin(subscriber->session) == IBMF_SUCCESS) {
                access.wait();
                EXPECT_EQ(access.calls(), 1);
            }
            sleep_ms(drawn(3000));
        }
    }

    int path_to(std::size_t host) {
        sa_path_record_t wanted{};
        wanted.SGID = gid_of(hcas.guid(1) + 1);
        wanted.DGID = gid_of(hcas.guid(host) + 1);
        return test_access<sa_path_record_t>(SA_PATHRECORD_ATTRID, wanted,
                                             SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID)
            .ask(subscriber->session);
    }

    /// The third host leaves, or returns and stays; then the subscriber knows it.
    void check() {
        for (std::size_t i = 0; i < hcas.count(); ++i)
            set_link(i, true);
        sleep_ms(60'000);
        const bool stays = drawn(2) == 0;
        set_link(2, false);
        sleep_ms(10'000);
        if (stays) set_link(2, true);
        sleep_ms(30'000);
        const ib_guid_t last = hcas.guid(2) + 1;
        EXPECT_EQ(subscriber->present().contains(last), stays);
        EXPECT_EQ(subscriber->present().size(), stays ? 7u : 6u);
        set_faults({}); // a query may be lost on every retry
        EXPECT_EQ(path_to(2), stays ? IBMF_SUCCESS : IBMF_NO_RECORDS);
        EXPECT_EQ(path_to(3), IBMF_SUCCESS);
    }

    sim_machine& sim;
    attached hcas{unmanaged()};
    std::optional<running_manager> one, other;
    std::optional<watcher> subscriber;
};

irpverbs::dispatch::explore_options campaign() {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 100;
    options.pct_runs = 0;
    options.machine.step_limit = 2'000'000; // three minutes may take many steps
    return options;
}

void run_all(sim_machine& sim, bool ignores_leaving) {
    faulty_fabric world(sim, ignores_leaving);
    sim.spawn("asks", [&] { world.send_queries(); });
    sim.spawn("trouble", [&] { world.inject_faults(); });
    sim.run();
    world.check();
}

TEST(SubnetFaultCampaign, RandomFaults_SubscriberViewMatchesFabric) {
    expect_explored(campaign(), [](sim_machine& sim) { run_all(sim, false); });
}

TEST(SubnetFaultCampaign, SubscriberIgnoresGidUnavailable_DefectIsFound) {
    auto options = campaign();
    options.shrink_budget = 0;
    expect_found(options, [](sim_machine& sim) { run_all(sim, true); });
}

} // namespace
