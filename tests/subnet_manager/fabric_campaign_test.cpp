// A fabric with two subnet managers, on which cables break and are repaired, managers stop and
// start, memory runs short, hosts join and leave a group, and datagrams are lost, duplicated and
// reordered, in drawn order and virtual time. A subscriber learns from events alone which hosts are
// present; when a loss is reported it queries the SA. In the end its view is right, and so are the
// paths and the switches' multicast tables.
//
// IRPVERBS_SEEDS=N subnet_manager_test --gtest_filter='SubnetFaultCampaign.*' makes N times as many
// runs of it.
#include "../hca/subnet_client.hpp"
#include "../saa/scripted_sa.hpp"
#include "managed_fabric.hpp"

#include <dispatch/testing/probe.hpp>
#include <hca/software.h>
#include <support/explore_gtest.hpp>

#include <bit>
#include <deque>
#include <map>
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
    // Calls may overtake one another: of the events of a port the last one counts.
    static void on_event(ibmf_saa_handle_t handle, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<watcher*>(context);
        const ib_guid_t guid = details->ie_gid.gid_guid;
        std::uint64_t number = 0;
        EXPECT_EQ(ibmf_saa_event_number(handle, &number), IBMF_SUCCESS);
        ++self.heard_;
        const bool is_last =
            number > std::exchange(self.last_of_[guid], std::max(number, self.last_of_[guid]));
        if (!is_last) return;
        if (what == IBMF_SAA_EVENT_GID_AVAILABLE) self.present_.insert(guid);
        if (what == IBMF_SAA_EVENT_GID_UNAVAILABLE && !self.ignores_leaving_)
            self.present_.erase(guid);
        if (what == IBMF_SAA_EVENT_LOST || what == IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG)
            self.stale_ = true;
        if (self.stale_ && self.session.handle != nullptr) self.ask();
    }
    // A response may be older than an event that arrived during the query.
    void ask() {
        const unsigned before = heard_;
        test_access<sa_node_record_t> access(SA_NODERECORD_ATTRID, {}, 0);
        if (access.ask(session) != IBMF_SUCCESS || heard_ != before) {
            stale_ = true;
            return;
        }
        present_.clear();
        for (const sa_node_record_t& each : access.records())
            present_.insert(each.NodeInfo.PortGUID);
        stale_ = false;
    }

    const bool ignores_leaving_; // planted: ignores ports that leave
    std::set<ib_guid_t> present_;
    std::map<ib_guid_t, std::uint64_t> last_of_; // by port: the number of its last event
    std::atomic<unsigned> heard_{0};
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
            switch (drawn(4)) {
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
            case 3:
                IRPVERBS_PROBE("campaign.memory_is_short");
                set_memory_short(true);
                sleep_ms(drawn(3000));
                set_memory_short(false);
                break;
            }
        }
    }

    using join_access = test_access<sa_mcmember_record_t>;

    /// Membership of a host in the group, requested by the subscriber's host.
    static sa_mcmember_record_t member(ib_guid_t host) {
        sa_mcmember_record_t record{};
        record.MGID = {0xff12401bffff0000, 1};
        record.PortGID = gid_of(host + 1);
        record.JoinState = SA_MC_JOIN_FULL;
        record.P_Key = IB_PKEY_DEFAULT_FULL;
        record.Q_Key = 0x1234;
        return record;
    }
    std::unique_ptr<join_access> membership(std::size_t host, bool joins) {
        constexpr std::uint64_t named =
            SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE;
        constexpr std::uint64_t created = named | SA_MC_COMPMASK_QKEY | SA_MC_COMPMASK_TCLASS |
                                          SA_MC_COMPMASK_PKEY | SA_MC_COMPMASK_FLOWLABEL |
                                          SA_MC_COMPMASK_SL;
        return std::make_unique<join_access>(SA_MCMEMBERRECORD_ATTRID, member(hcas.guid(host)),
                                             joins ? created : named,
                                             joins ? IBMF_SAA_UPDATE : IBMF_SAA_DELETE);
    }

    /// Hosts without a role in the final check join and leave, several requests in flight.
    void join_and_leave() {
        std::deque<std::unique_ptr<join_access>> requests;
        for (int i = 0; i < 8; ++i) {
            requests.push_back(membership(joiners[drawn(joiners.size())], drawn(2) == 0));
            if (requests.back()->begin(subscriber->session) != IBMF_SUCCESS) requests.pop_back();
            if (requests.size() > 2) requests.pop_front(); // waits
            sleep_ms(drawn(3) == 0 ? drawn(3000) : 0);
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

    /// The number of ports in the first block of the two switches' multicast tables.
    unsigned ports_in_tables() {
        constexpr UCHAR cable = 7; // to the other switch
        const open_hca host(hcas.fdo(3));
        subnet_client asks(host);
        unsigned bits = 0;
        for (const mad& table :
             {asks.get({1}, sm_multicast_table, 0), asks.get({1, cable}, sm_multicast_table, 0)})
            for (std::size_t i = 0; i < 64; ++i)
                bits += static_cast<unsigned>(std::popcount(table[smp_data + i]));
        return bits;
    }

    /// In the end all join, or all leave.
    void check_group() {
        const bool all = drawn(2) == 0;
        for (const std::size_t host : joiners)
            EXPECT_TRUE(eventually([&] {
                last_code = membership(host, all)->ask(subscriber->session);
                return last_code == IBMF_SUCCESS || (!all && last_code == IBMF_REQ_INVALID);
            })) << host
                << ' ' << all << ' ' << last_code;
        constexpr unsigned ends_of_cable = 2;
        EXPECT_EQ(ports_in_tables(), all ? joiners.size() + ends_of_cable : 0u);
    }

    /// The third host leaves, or returns and stays; then the subscriber knows it.
    void check() {
        for (std::size_t i = 0; i < hcas.count(); ++i)
            set_link(i, true);
        sleep_ms(40'000);
        const bool stays = drawn(2) == 0;
        set_link(2, false);
        sleep_ms(10'000);
        if (stays) set_link(2, true);
        sleep_ms(5'000);
        set_faults({}); // a lost SMP removes a port until the next sweep
        sleep_ms(40'000);
        const ib_guid_t last = hcas.guid(2) + 1;
        EXPECT_EQ(subscriber->present().contains(last), stays);
        EXPECT_EQ(subscriber->present().size(), stays ? 7u : 6u);
        EXPECT_EQ(path_to(2), stays ? IBMF_SUCCESS : IBMF_NO_RECORDS);
        EXPECT_EQ(path_to(3), IBMF_SUCCESS);
        check_group();
    }

    static constexpr std::array<std::size_t, 3> joiners{0, 1, 3};
    sim_machine& sim;
    attached hcas{unmanaged()};
    std::optional<running_manager> one, other;
    std::optional<watcher> subscriber;
    int last_code = IBMF_SUCCESS; // of a membership request
};

irpverbs::dispatch::explore_options campaign() {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 100;
    options.pct_runs = 0;
    options.required_probes = {"fabric.lost",
                               "fabric.duplicated",
                               "fabric.reordered",
                               "campaign.memory_is_short",
                               "manager.restarted_for_memory",
                               "mastership.master_is_silent",
                               "mastership.handed_over",
                               "multicast.changed_in_flight",
                               "sweep.own_link_is_down"};
    options.machine.step_limit = 2'000'000; // three minutes may take many steps
    options.shrink_budget = 20;
    return options;
}

void run_all(sim_machine& sim, bool ignores_leaving) {
    set_memory_short(false);
    faulty_fabric world(sim, ignores_leaving);
    sim.spawn("asks", [&] { world.send_queries(); });
    sim.spawn("joins", [&] { world.join_and_leave(); });
    sim.spawn("trouble", [&] { world.inject_faults(); });
    sim.run();
    sim.end_delays();
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
