// Failures in drawn order, in virtual time: the SM is killed, stopped, moved or busy for a minute,
// responses come late, duplicated or cut, the port goes down and up, a subscriber is slow. Every
// request ends once, every event or its loss is reported, and no caller gets a path that was
// withdrawn before its request.
//
// IRPVERBS_SEEDS=250 saa_test --gtest_filter='SaFaultCampaign.*' makes 100,000 runs of it.
#include "scripted_sa.hpp"
#include "trap_notices.hpp"

#include <support/explore_gtest.hpp>

#include <map>
#include <ranges>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

constexpr std::uint64_t changes = 8; // each of another port

std::uint64_t guid_of(std::uint64_t change) { return 0x100 + change; }

/// Draws a number from the schedule's source.
std::uint64_t drawn(sim_machine& sim, std::uint64_t below) { return sim.random() % below; }

void let_pass_ms(std::uint64_t time) {
    LARGE_INTEGER due;
    due.QuadPart = -static_cast<LONGLONG>(time * 10'000);
    KeDelayExecutionThread(KernelMode, FALSE, &due);
}

/// The state of the subnet, and the part of it that a client must know. One change happens at a
/// time.
struct subnet_state {
    std::array<std::atomic<std::uint64_t>, changes> version{}; // of the paths to each port
    // the lowest version that a client may get
    std::array<std::atomic<std::uint64_t>, changes> known{};
    std::array<std::uint64_t, changes> when_subscribed{};
    // a Report was sent, and given up while actors were delayed
    std::array<std::atomic<bool>, changes> given_up{};

    void note_subscribed() {
        for (std::size_t i = 0; i < changes; ++i)
            when_subscribed[i] = version[i];
    }
    void all_known() {
        for (std::size_t i = 0; i < changes; ++i)
            known[i] = std::max(known[i].load(), when_subscribed[i]);
    }
};

enum class sa_state { normal, silent, busy, cutting };

constexpr ibmf_retrans_t report_times{2, 100'000, 10'000, 0};

/// Delays below that leave a Report's response to its first attempt in time, since the wire takes
/// 20 ms at most in each direction.
constexpr std::uint64_t time_of_an_attempt = 60 * 10'000;

/// An SA with changing faults, which may lose its subscriptions.
struct faulty_sa {
    faulty_sa(sim_machine& its_sim, subnet_state& its_net) : sim(its_sim), net(its_net) {
        sa.report_times = report_times;
    }

    sa_reply respond(const sa_request& request) {
        if (now == sa_state::silent) return {.silent = true};
        if (now == sa_state::busy) return {.status = MAD_STATUS_BUSY, .data = request.data};
        if (request.header.attribute_id == SA_INFORMINFO_ATTRID) return subscribe(request);
        auto record = request.record<sa_path_record_t>();
        record.ServiceID = net.version[record.DGID.gid_guid - guid_of(0)];
        sa_reply reply = table_of<sa_path_record_t>({record});
        if (now == sa_state::cutting) reply.data.resize(reply.data.size() / 2);
        return reply;
    }
    sa_reply subscribe(const sa_request& request) {
        const auto info = request.record<ib_mad_informinfo_t>();
        if (info.ProducerType_VendorID == MAD_INFORMINFO_NODETYPE_SUBNET_MANAGEMENT) {
            subscribed = info.Subscribe == 1;
            net.note_subscribed();
        }
        return {.data = request.data};
    }
    /// Changes a path and sends a Report to a subscriber. Returns true when the subscriber has
    /// acknowledged it.
    bool change(std::uint64_t which) {
        const std::uint64_t changed = ++net.version[which];
        while (now == sa_state::silent && subscribed)
            let_pass_ms(50);
        if (!subscribed) return false;
        const std::uint64_t delayed = sim.delayed_time();
        if (sa.report(trap_about(SM_GID_OUT_OF_SERVICE_TRAP, gid_of(guid_of(which)))) !=
            IBMF_SUCCESS) {
            net.given_up[which] = sim.delayed_time() - delayed >= time_of_an_attempt;
            return false;
        }
        net.known[which] = std::max(net.known[which].load(), changed);
        return true;
    }

    sim_machine& sim;
    subnet_state& net;
    std::atomic<sa_state> now{sa_state::normal};
    std::atomic<bool> subscribed{false};
    scripted_sa sa{[this](const sa_request& request) { return respond(request); }};
};

constexpr std::uint64_t loss = ~std::uint64_t{0};

/// A planted defect that the test must find.
enum class defect { none, keeps_what_was_withdrawn, loses_in_silence };

/// Records the ports of the reported events, and `loss` for a reported loss, by the numbers of the
/// events: their calls may overtake one another.
struct event_history {
    event_history(sim_machine& its_sim, subnet_state& its_net, bool is_slow, defect its_defect)
        : sim(its_sim), net(its_net), slow(is_slow), wrong(its_defect) {}

    static void on_event(ibmf_saa_handle_t session, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<event_history*>(context);
        EXPECT_FALSE(self.closed);
        std::uint64_t number = 0;
        if (ibmf_saa_event_number(session, &number) != IBMF_SUCCESS) return; // it is being closed
        const bool drops = self.wrong == defect::loses_in_silence && self.by_number.size() == 3;
        if (what == IBMF_SAA_EVENT_GID_UNAVAILABLE && !drops)
            self.record(number, details->ie_gid.gid_guid - guid_of(0));
        if (what == IBMF_SAA_EVENT_LOST) {
            self.record(number, loss);
            self.net.all_known();
        }
        if (self.slow) let_pass_ms(drawn(self.sim, 3000));
    }
    void record(std::uint64_t number, std::uint64_t entry) {
        EXPECT_TRUE(by_number.insert({number, entry}).second) << number;
    }
    bool has(std::uint64_t entry) const {
        return std::ranges::count(by_number | std::views::values, entry) != 0;
    }

    /// Each change was reported once, in order, or a loss was reported in its place. Where actors
    /// were delayed, the SA may have given up a Report before the client's host answered it: that
    /// one may be missing, or late.
    void check(const std::vector<std::uint64_t>& happened) const {
        const auto entries = by_number | std::views::values;
        const std::vector<std::uint64_t> received(entries.begin(), entries.end());
        std::size_t at = 0;
        for (const std::uint64_t change : happened) {
            if (net.given_up[change]) continue;
            const auto rest = received.begin() + static_cast<std::ptrdiff_t>(at);
            const auto found = std::find(rest, received.end(), change);
            if (found != received.end())
                at = static_cast<std::size_t>(found - received.begin()) + 1;
            else
                EXPECT_NE(std::find(rest, received.end(), loss), received.end())
                    << change << " is missing, and no loss was reported; received: "
                    << ::testing::PrintToString(received);
        }
        // After a change of SA, a Report duplicated by the wire may count as new.
        for (auto first = received.begin(); first != received.end(); ++first) {
            if (*first != loss && net.given_up[*first]) continue;
            const auto again = std::find(first + 1, received.end(), *first);
            EXPECT_TRUE(*first == loss || again == received.end() ||
                        std::find(first, received.end(), loss) != received.end())
                << *first << " came twice";
        }
    }

    sim_machine& sim;
    subnet_state& net;
    const bool slow;
    const defect wrong;
    std::map<std::uint64_t, std::uint64_t> by_number;
    std::atomic<bool> closed{false};
    ibmf_saa_subnet_event_args_t args{on_event, this};
};

struct troubled_world {
    explicit troubled_world(sim_machine& its_sim, defect its_defect = defect::none)
        : sim(its_sim), wrong(its_defect) {
        joined.tap = [this](unsigned, auto&) { return !cut_off; };
        joined.set_faults({0, 5, static_cast<std::uint32_t>(drawn(sim, 20'000))});
        while (!sa.subscribed)
            let_pass_ms(1);
    }

    void ask_some() {
        // for a defective client that keeps paths too long
        std::map<std::uint64_t, std::uint64_t> kept;
        for (int i = 0; i < 4; ++i) {
            const std::uint64_t which = drawn(sim, changes);
            if (kept.contains(which)) {
                EXPECT_GE(kept[which], net.known[which]) << which;
            }
            sa_path_record_t wanted{};
            wanted.SGID = gid_of(1);
            wanted.DGID = gid_of(guid_of(which));
            test_access<sa_path_record_t> access(SA_PATHRECORD_ATTRID, wanted, path_ends);
            const std::uint64_t known = net.known[which];
            if (access.begin(session) != IBMF_SUCCESS) continue;
            if (access.status() == IBMF_SUCCESS) {
                EXPECT_GE(access.records().at(0).ServiceID, known) << which;
                if (wrong == defect::keeps_what_was_withdrawn)
                    kept[which] = access.records().at(0).ServiceID;
            }
            let_pass_ms(drawn(sim, 100)); // a second callback would come now
            EXPECT_EQ(access.calls(), 1);
            let_pass_ms(drawn(sim, 2000));
        }
    }

    void change_some() {
        for (std::uint64_t which = 0; which + 1 < changes; ++which) {
            sa.change(which);
            let_pass_ms(drawn(sim, 4000));
        }
    }

    void make_trouble() {
        for (int i = 0; i < 3; ++i) {
            let_pass_ms(drawn(sim, 4000));
            switch (drawn(sim, 6)) {
            case 0:
                stay(sa_state::silent, drawn(sim, 20'000));
                break;
            case 1:
                stay(sa_state::busy, 60'000);
                break;
            case 2:
                stay(sa_state::cutting, drawn(sim, 5000));
                break;
            case 3: // killed, and restarted
                sa.subscribed = false;
                stay(sa_state::silent, drawn(sim, 20'000));
                move(IB_AE_CLIENT_REREGISTER);
                break;
            case 4:
                sa.subscribed = false;
                move(IB_AE_SM_CHANGE);
                break;
            case 5:
                cut_off = true;
                joined.set_state(0, IB_PORT_DOWN);
                let_pass_ms(drawn(sim, 5000));
                cut_off = false;
                joined.set_state(0, IB_PORT_ACTIVE);
                break;
            }
        }
    }
    void stay(sa_state what, std::uint64_t ms) {
        sa.now = what;
        let_pass_ms(ms);
        sa.now = sa_state::normal;
    }
    void move(IB_ASYNC_EVENT event) {
        sa.subscribed = false; // for earlier requests
        joined.move_sm(wire::lids[1], ++level, event);
    }

    /// All faults have ended: the last change must be reported.
    void settle() {
        sim.end_delays();
        let_pass_ms(200'000);
        EXPECT_TRUE(sa.change(changes - 1));
        for (int i = 0; i < 300 && !(quick.has(changes - 1) && slow.has(changes - 1)); ++i)
            let_pass_ms(1000);
    }

    sim_machine& sim;
    const defect wrong;
    subnet_state net;
    std::atomic<bool> cut_off{false};
    UCHAR level = 0;
    wire joined;
    faulty_sa sa{sim, net};
    event_history quick{sim, net, false, wrong};
    event_history slow{sim, net, true, wrong};
    session_scope session{&quick.args, IBMF_SAA_SESSION_CACHED_PATHS};
    session_scope other{&slow.args};
};

irpverbs::dispatch::explore_options campaign() {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 400;
    options.pct_runs = 0;
    return options;
}

void run_all(troubled_world& world, sim_machine& sim) {
    sim.spawn("asks", [&] { world.ask_some(); });
    sim.spawn("asks too", [&] { world.ask_some(); });
    sim.spawn("changes", [&] { world.change_some(); });
    sim.spawn("trouble", [&] { world.make_trouble(); });
    sim.run();
    world.settle();
    std::vector<std::uint64_t> happened;
    for (std::uint64_t i = 0; i < changes; ++i)
        happened.push_back(i);
    world.quick.check(happened);
    world.slow.check(happened);
}

TEST(SaFaultCampaign, RandomFaults_EveryQueryCompletesNoEventLostSilently) {
    std::uint64_t hits = 0;
    std::uint64_t losses = 0;
    const auto seen = expect_explored(campaign(), [&](sim_machine& sim) {
        troubled_world world(sim);
        run_all(world, sim);
        losses += world.quick.has(loss) ? 1 : 0;
        ibmf_saa_path_cache_stats_t cached{};
        EXPECT_EQ(ibmf_saa_query_path_cache(world.session.handle, &cached), IBMF_SUCCESS);
        hits += cached.pc_hits;
    });
    EXPECT_GT(20 * hits, seen.runs()) << "runs without hits test nothing";
    EXPECT_GT(8 * losses, seen.runs()) << "runs without losses test nothing";
}

void expect_to_find(defect wrong) {
    auto options = campaign();
    options.shrink_budget = 0;
    expect_found(options, [&](sim_machine& sim) {
        troubled_world world(sim, wrong);
        run_all(world, sim);
    });
}

TEST(SaFaultCampaign, CacheIgnoresInvalidation_DefectIsFound) {
    expect_to_find(defect::keeps_what_was_withdrawn);
}

TEST(SaFaultCampaign, EventLostSilently_DefectIsFound) { expect_to_find(defect::loses_in_silence); }

} // namespace
