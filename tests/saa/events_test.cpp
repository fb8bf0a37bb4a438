// Events of the subnet: subscriptions with the SA, and the delivery of Reports to the subscribers.
#include "scripted_sa.hpp"
#include "trap_notices.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <events/event_log.hpp>
#include <saa/async.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using namespace irpverbs::testing;
namespace saa = irpverbs::saa;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

class SaEvents : public BothMachines {};

struct received_event {
    ibmf_saa_subnet_event_t what;
    ibmf_saa_event_details_t details;
};

/// pass() blocks until the gate is open.
struct gate {
    gate() {
        KeInitializeEvent(&opened, NotificationEvent, FALSE);
        KeInitializeEvent(&arrived, NotificationEvent, FALSE);
    }
    void pass() {
        KeSetEvent(&arrived, IO_NO_INCREMENT, FALSE);
        KeWaitForSingleObject(&opened, Executive, KernelMode, FALSE, nullptr);
    }
    void await_arrival() { KeWaitForSingleObject(&arrived, Executive, KernelMode, FALSE, nullptr); }
    void open() { KeSetEvent(&opened, IO_NO_INCREMENT, FALSE); }

    KEVENT opened;
    KEVENT arrived;
};

/// A subscriber that records its events, and returns them in the order of their numbers.
struct event_recorder {
    event_recorder() { KeInitializeSemaphore(&come, 0, INT32_MAX); }
    static void on_event(ibmf_saa_handle_t handle, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<event_recorder*>(context);
        EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
        EXPECT_NE(handle, nullptr);
        EXPECT_FALSE(self.closed);
        std::uint64_t number = 0;
        const int status = ibmf_saa_event_number(handle, &number);
        EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BAD_HANDLE) << "it is being closed";
        if (self.inside) self.inside();
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&self.lock);
        if (status == IBMF_SUCCESS) {
            EXPECT_TRUE(self.received.insert({number, {what, *details}}).second) << number;
        }
        KeReleaseSpinLock(&self.lock, level);
        EXPECT_FALSE(self.closed) << "closed during the callback";
        KeReleaseSemaphore(&self.come, 0, 1, FALSE);
    }
    received_event next() {
        for (;;) {
            const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock);
            const auto found = received.find(taken + 1);
            const bool here = found != received.end();
            const received_event got = here ? found->second : received_event{};
            if (here) ++taken;
            KeReleaseSpinLock(&lock, level);
            if (here) return got;
            KeWaitForSingleObject(&come, Executive, KernelMode, FALSE, nullptr);
        }
    }
    /// Expects events about these ports next.
    void expect(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t i = first; i < end; ++i)
            EXPECT_EQ(next().details.ie_gid.gid_guid, i);
    }
    bool silent() {
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock);
        const bool none = received.size() == taken;
        KeReleaseSpinLock(&lock, level);
        return none;
    }

    ibmf_saa_subnet_event_args_t args{on_event, this};
    std::function<void()> inside;
    KSPIN_LOCK lock = 0;
    std::map<std::uint64_t, received_event> received; // by number; guarded by the lock
    std::size_t taken = 0;
    std::atomic<bool> closed{false};
    KSEMAPHORE come;
};

constexpr std::uint64_t most_calls = 8; // concurrent callbacks of a session

/// An event recorder whose callbacks block until it is opened.
struct held_event_recorder : event_recorder {
    held_event_recorder() {
        inside = [this] {
            calls.increment();
            go_on.pass();
        };
    }
    void await_calls(std::uint64_t count) { calls.await(static_cast<int>(count)); }

    gate go_on;
    event_counter calls;
};

/// An SA that accepts subscriptions, and may refuse those of some producers.
struct subscribing_sa {
    std::atomic<unsigned> refused{0};
    std::atomic<bool> keeps_all{false};     // refuses unsubscriptions
    std::atomic<unsigned> service_level{0}; // of the last request
    event_counter subscribed;
    event_counter unsubscribed;
    /// Reports that these ports appear, one after the other.
    void report(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t i = first; i < end; ++i)
            EXPECT_EQ(sa.report(trap_about(64, gid_of(i))), IBMF_SUCCESS);
    }
    scripted_sa sa{[this](const sa_request& request) {
        const auto info = request.record<ib_mad_informinfo_t>();
        EXPECT_EQ(request.header.method, SA_SUBN_ADM_SET);
        EXPECT_EQ(request.header.attribute_id, SA_INFORMINFO_ATTRID);
        EXPECT_EQ(info.LIDRangeBegin, 0xFFFF);
        EXPECT_EQ(info.IsGeneric, 1);
        EXPECT_EQ(info.Type, 0xFFFF);
        EXPECT_EQ(info.TrapNumber_DeviceID, 0xFFFF);
        EXPECT_EQ(info.QPN, info.Subscribe == 1 ? 0u : 1u);
        service_level = request.service_level;
        (info.Subscribe == 1 ? subscribed : unsubscribed).increment();
        sa_reply reply;
        reply.data = request.data;
        if (info.ProducerType_VendorID == refused.load()) reply.status = 0x0100;
        if (info.Subscribe != 1 && keeps_all) reply.status = 0x0200;
        return reply;
    }};
};

// Reading starts at any kept event; a start one event earlier yields a gap.
TEST(SaEventLog, ReadBehindKeptEvents_ReportsLossThenRest) {
    for (const std::uint64_t before : {0u, 1u, 255u, 256u, 300u})
        for (const std::uint64_t behind : {1u, 255u, 256u, 257u, 258u, 600u}) {
            saa::event_log log;
            saa::subnet_event event{IBMF_SAA_EVENT_GID_AVAILABLE, {}};
            for (event.details.ie_lid = 0; event.details.ie_lid < before + behind;
                 ++event.details.ie_lid)
                log.add(event);
            saa::event_log::position at = before;
            if (behind > 256) {
                EXPECT_EQ(log.next(at).what, IBMF_SAA_EVENT_LOST);
                EXPECT_EQ(at, before + behind - 256);
            }
            while (at != log.end()) {
                const std::uint64_t expected = at;
                EXPECT_EQ(log.next(at).details.ie_lid, expected);
            }
        }
}

TEST_P(SaEvents, EachTrap_DeliversItsEvent) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    const std::pair<std::uint16_t, ibmf_saa_subnet_event_t> about_gids[]{
        {64, IBMF_SAA_EVENT_GID_AVAILABLE},
        {65, IBMF_SAA_EVENT_GID_UNAVAILABLE},
        {66, IBMF_SAA_EVENT_MCG_CREATED},
        {67, IBMF_SAA_EVENT_MCG_DELETED}};
    for (const auto& [number, what] : about_gids) {
        EXPECT_EQ(sa.sa.report(trap_about(number, gid_of(number))), IBMF_SUCCESS);
        const received_event got = recorder.next();
        EXPECT_EQ(got.what, what);
        EXPECT_EQ(got.details.ie_gid.gid_guid, number);
        EXPECT_EQ(got.details.ie_lid, 0);
    }
    ib_mad_notice_t capabilities = trap(144);
    capabilities.DataDetails[3] = 9;    // LID
    capabilities.DataDetails[9] = 0x42; // CapabilityMask
    EXPECT_EQ(sa.sa.report(capabilities), IBMF_SUCCESS);
    received_event got = recorder.next();
    EXPECT_EQ(got.what, IBMF_SAA_EVENT_CAP_MASK_CHG);
    EXPECT_EQ(got.details.ie_lid, 9);
    EXPECT_EQ(got.details.ie_capability_mask, 0x42u);
    ib_mad_notice_t image = trap(145);
    image.DataDetails[13] = 0x77;
    EXPECT_EQ(sa.sa.report(image), IBMF_SUCCESS);
    got = recorder.next();
    EXPECT_EQ(got.what, IBMF_SAA_EVENT_SYS_IMG_GUID_CHG);
    EXPECT_EQ(got.details.ie_sysimg_guid, 0x77u);
    EXPECT_EQ(sa.sa.report(trap(128)), IBMF_SUCCESS); // answered, but not one of the seven events
    EXPECT_TRUE(recorder.silent());
}

// Only the SA's LID is that of the subnet manager.
TEST_P(SaEvents, ReportOfAnotherNode_IsIgnored) {
    wire joined;
    std::array<UCHAR, IB_MAD_SIZE> report{};
    joined.tap = [&](unsigned, std::array<UCHAR, IB_MAD_SIZE>& sent) {
        if (sent[1] == MAD_MGMT_CLASS_SUBN_ADM && sent[3] == MAD_METHOD_REPORT) report = sent;
        return true;
    };
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    sa.report(1, 2);
    EXPECT_EQ(recorder.next().details.ie_gid.gid_guid, 1u);
    constexpr ib_lid_t stranger = 9;
    report[15] ^= 0x40; // another transaction
    joined.inject(0, report.data(), IB_MAD_SIZE, stranger);
    sa.report(2, 3);
    EXPECT_EQ(recorder.next().details.ie_gid.gid_guid, 2u);
}

// Four producers, one subscription each, for any number of sessions; the last session's close ends
// them.
TEST_P(SaEvents, ManySessions_ShareOneSubscriptionPerProducer) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    event_recorder second_recorder;
    const session_scope quiet;
    EXPECT_EQ(sa.subscribed.so_far(), 0);
    {
        const session_scope session(&recorder.args);
        {
            const session_scope other(&second_recorder.args);
            EXPECT_EQ(sa.sa.report(trap_about(64, gid_of(1))), IBMF_SUCCESS);
            EXPECT_EQ(recorder.next().what, IBMF_SAA_EVENT_GID_AVAILABLE);
            EXPECT_EQ(second_recorder.next().what, IBMF_SAA_EVENT_GID_AVAILABLE);
        }
        sa.subscribed.await(4);
        EXPECT_EQ(sa.unsubscribed.so_far(), 0);
    }
    sa.unsubscribed.await(4);
    EXPECT_EQ(sa.subscribed.so_far(), 4);
    EXPECT_TRUE(recorder.silent()); // all four succeeded: no change
}

// A refused subscription is reported, to later sessions too, and is retried.
TEST_P(SaEvents, SubscriptionRefused_StatusReportedAndRetried) {
    const wire joined;
    subscribing_sa sa;
    sa.refused = MAD_INFORMINFO_NODETYPE_ROUTER;
    event_recorder recorder;
    event_recorder later;
    const session_scope session(&recorder.args);
    received_event got = recorder.next();
    EXPECT_EQ(got.what, IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG);
    EXPECT_EQ(got.details.ie_producer_event_status_mask, 0xB);
    const session_scope other(&later.args);
    EXPECT_EQ(later.next().details.ie_producer_event_status_mask, 0xB);
    EXPECT_TRUE(recorder.silent());
    sa.refused = 0;
    EXPECT_EQ(recorder.next().details.ie_producer_event_status_mask, 0xF);
    EXPECT_EQ(later.next().details.ie_producer_event_status_mask, 0xF);
}

TEST_P(SaEvents, PortActiveAgain_SubscriptionsRenewed) {
    wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    sa.subscribed.await(4);
    joined.set_state(0, IB_PORT_DOWN);
    joined.set_state(0, IB_PORT_ACTIVE);
    sa.subscribed.await(4);
    // Reports sent while the port was down are lost. IBMF may learn of the port's return after SA
    // access does: then a producer is missing for a while, and that is reported, too.
    int missing = 0;
    for (received_event got = recorder.next(); got.what != IBMF_SAA_EVENT_LOST;
         got = recorder.next())
        missing += got.details.ie_producer_event_status_mask == 0xF ? 0 : 1;
    if (missing != 0) {
        EXPECT_EQ(recorder.next().details.ie_producer_event_status_mask, 0xF);
    }
}

// After each event that may change the SM's address, the address is read anew and the SA gets new
// subscriptions.
TEST_P(SaEvents, SmAddressEvent_SubscribesAtNewAddress) {
    wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    sa.subscribed.await(4);
    UCHAR level = 0;
    for (const IB_ASYNC_EVENT event :
         {IB_AE_SM_CHANGE, IB_AE_LID_CHANGE, IB_AE_CLIENT_REREGISTER, IB_AE_PORT_ACTIVE}) {
        joined.move_sm(wire::lids[1], ++level, event);
        sa.subscribed.await(4);
        EXPECT_EQ(sa.service_level, level) << event;
        EXPECT_EQ(recorder.next().what, IBMF_SAA_EVENT_LOST) << event;
    }
}

// Defect D7: one subscription that could not be sent failed the others.
TEST_P(SaEvents, OneSubscriptionNotSent_OthersSucceed) {
    wire joined;
    std::atomic<int> sent{0};
    joined.fails = [&](unsigned from, const auto& bytes) {
        const bool subscribes = from == 0 && bytes[3] == SA_SUBN_ADM_SET;
        return subscribes && ++sent == 2;
    };
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    const auto missing = [&] {
        return 0xF ^ recorder.next().details.ie_producer_event_status_mask;
    };
    EXPECT_EQ(std::popcount(static_cast<unsigned>(missing())), 1);
    EXPECT_EQ(missing(), 0);
    sa.subscribed.await(4);
    EXPECT_EQ(sent, 5);
}

// Defect D8: the status of an unsubscription was read from freed memory.
TEST_P(SaEvents, UnsubscriptionRefused_SessionCloses) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    {
        const session_scope session(&recorder.args); // whose close succeeds
        sa.subscribed.await(4);
        // Follows the responses to the subscriptions.
        EXPECT_EQ(sa.sa.report(trap_about(64, gid_of(1))), IBMF_SUCCESS);
        EXPECT_EQ(recorder.next().what, IBMF_SAA_EVENT_GID_AVAILABLE);
        sa.keeps_all = true;
    }
    sa.unsubscribed.await(4);
    EXPECT_TRUE(recorder.silent());
}

// Every Report is answered, however slow the subscriber is. After the events of its first callbacks
// it gets a loss and the last 256 events.
TEST_P(SaEvents, SlowSubscriber_ReceivesLastEventAndLoss) {
    const wire joined;
    subscribing_sa sa;
    held_event_recorder recorder;
    const session_scope session(&recorder.args);
    constexpr std::uint64_t many = 300;
    sa.report(0, most_calls);
    recorder.await_calls(most_calls);
    sa.report(most_calls, many);
    recorder.go_on.open();
    recorder.expect(0, most_calls);
    EXPECT_EQ(recorder.next().what, IBMF_SAA_EVENT_LOST);
    recorder.expect(many - 256, many);
    EXPECT_TRUE(recorder.silent());
    sa.report(many, many + 1);
    recorder.expect(many, many + 1);
}

// Exactly as many events as the log keeps are no gap.
TEST_P(SaEvents, SlowSubscriber_MayBeAsManyBehindAsAreKept) {
    const wire joined;
    subscribing_sa sa;
    held_event_recorder recorder;
    const session_scope session(&recorder.args);
    sa.report(0, most_calls);
    recorder.await_calls(most_calls);
    sa.report(most_calls, most_calls + 256);
    recorder.go_on.open();
    recorder.expect(0, most_calls + 256);
}

// Seed 003: each callback is on a separate thread, and may block.
TEST_P(SaEvents, CallbackThatWaitsForTheNextEvent_GetsIt) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    gate second;
    std::atomic<int> calls{0};
    recorder.inside = [&] {
        if (++calls == 2) return second.open();
        second.pass();
    };
    const session_scope session(&recorder.args);
    sa.report(0, 2);
    recorder.expect(0, 2);
}

TEST_P(SaEvents, CallbacksOfASession_AtMostEightAtOnce) {
    const wire joined;
    subscribing_sa sa;
    held_event_recorder recorder;
    event_recorder other; // whose events show that the worker has run
    const session_scope session(&recorder.args);
    const session_scope quick(&other.args);
    sa.report(0, 20);
    recorder.await_calls(most_calls);
    other.expect(0, 20);
    EXPECT_EQ(recorder.calls.so_far(), static_cast<int>(most_calls));
    recorder.go_on.open();
    recorder.expect(0, 20);
}

TEST_P(SaEvents, EventNumber_OnlyInsideTheCallback) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    const session_scope session(&recorder.args);
    const session_scope other;
    sa.report(0, 1);
    recorder.expect(0, 1);
    std::uint64_t number = 7;
    EXPECT_EQ(ibmf_saa_event_number(session.handle, nullptr), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_saa_event_number(nullptr, &number), IBMF_BAD_HANDLE);
    number = 7;
    EXPECT_EQ(ibmf_saa_event_number(session.handle, &number), IBMF_FAILURE);
    EXPECT_EQ(number, 0u);
    recorder.inside = [&] {
        EXPECT_EQ(saa::event_number(other.handle, number), IBMF_FAILURE);
        EXPECT_EQ(saa::event_number(session.handle, number), IBMF_SUCCESS);
    };
    sa.report(1, 2);
    recorder.expect(1, 2);
    EXPECT_EQ(number, 2u);
}

// Each slow subscriber occupies a worker, and the last subscriber still gets its events: the
// subscriber that waits is served first.
TEST_P(SaEvents, SlowSubscribers_DoNotDelayOthers) {
    const wire joined;
    subscribing_sa sa;
    std::array<held_event_recorder, 4> slow;
    event_recorder recorder;
    std::vector<std::unique_ptr<session_scope>> sessions;
    for (held_event_recorder& each : slow)
        sessions.push_back(std::make_unique<session_scope>(&each.args));
    sessions.push_back(std::make_unique<session_scope>(&recorder.args));
    sa.report(0, 3);
    recorder.expect(0, 3);
    for (held_event_recorder& each : slow)
        each.go_on.open();
    for (held_event_recorder& each : slow)
        each.expect(0, 3);
}

// A closed session's callback does not run, even if it was next.
TEST_P(SaEvents, CallbackClosesOtherSession_ItsCallbackDoesNotRun) {
    const wire joined;
    subscribing_sa sa;
    std::array<event_recorder, 3> recorders;
    std::vector<std::unique_ptr<session_scope>> sessions;
    for (event_recorder& each : recorders)
        sessions.push_back(std::make_unique<session_scope>(&each.args));
    recorders[0].inside = [&] {
        EXPECT_EQ(ibmf_sa_session_close(&sessions[1]->handle, 0), IBMF_SUCCESS);
        recorders[1].closed = true;
    };
    EXPECT_EQ(sa.sa.report(trap_about(64, gid_of(1))), IBMF_SUCCESS);
    recorders[0].next();
    EXPECT_EQ(recorders[2].next().details.ie_gid.gid_guid, 1u);
}

TEST_P(SaEvents, CallbackClosesOwnSession_Succeeds) {
    const wire joined;
    subscribing_sa sa;
    event_recorder recorder;
    session_scope session(&recorder.args);
    recorder.inside = [&] { EXPECT_EQ(ibmf_sa_session_close(&session.handle, 0), IBMF_SUCCESS); };
    EXPECT_EQ(sa.sa.report(trap_about(64, gid_of(1))), IBMF_SUCCESS);
    recorder.next();
    EXPECT_EQ(session.handle, nullptr);
}

IRPVERBS_ON_BOTH_MACHINES(SaEvents);

// Reports, subscriptions and the session's close race: no event is reported after the close.
TEST(SaEventRaces, ReportsDuringClose_NoEventAfterClose) {
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 150;
    expect_explored(options, [](sim_machine& sim) {
        const wire joined({0, 0, 100});
        subscribing_sa sa;
        event_recorder recorder;
        {
            session_scope session(&recorder.args);
            sa.subscribed.await(4);
            sim.spawn("reports", [&] { // the later ones may arrive after the session's close
                for (std::uint64_t i = 0; i < 3; ++i)
                    sa.sa.report(trap_about(64, gid_of(i)));
            });
            sim.spawn("closes", [&] {
                EXPECT_EQ(ibmf_sa_session_close(&session.handle, 0), IBMF_SUCCESS);
                recorder.closed = true;
            });
            sim.run();
        }
        std::uint64_t last = 0;
        for (const auto& [number, event] : recorder.received) {
            EXPECT_TRUE(number == 1 || event.details.ie_gid.gid_guid > last);
            last = event.details.ie_gid.gid_guid;
        }
    });
}

// Several subscribers, one of them closed during a delivery: the others get each event once and in
// order, and that one none after its close.
TEST(SaEventRaces, SessionClosedDuringDelivery_OthersReceiveAllInOrder) {
    explore_options options;
    options.random_runs = 2000;
    options.pct_runs = 500;
    expect_explored(options, [](sim_machine& sim) {
        const wire joined({0, 0, 100});
        subscribing_sa sa;
        std::array<event_recorder, 3> recorders;
        KSPIN_LOCK any = 0;
        const auto last_for = [&any](int turns) {
            for (int turn = 0; turn < turns; ++turn)
                KeReleaseSpinLock(&any, KeAcquireSpinLockRaiseToDpc(&any));
        };
        gate goes;
        recorders[0].inside = [&] { // the next one is notified while that one is closing
            goes.open();
            last_for(3);
        };
        recorders[1].inside = [&] { last_for(12); };
        session_scope first(&recorders[0].args);
        session_scope closed(&recorders[1].args);
        session_scope last(&recorders[2].args);
        constexpr std::uint64_t count = 4;
        std::array<bool, count> completed{};
        sim.spawn("reports", [&] {
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t delayed = sim.delayed_time();
                completed[i] = sa.sa.report(trap_about(64, gid_of(i))) == IBMF_SUCCESS;
                constexpr std::uint64_t ms = 10'000;
                EXPECT_TRUE(completed[i] || sim.delayed_time() - delayed >= 100 * ms) << i;
            }
        });
        sim.spawn("closes", [&] {
            goes.pass();
            EXPECT_EQ(ibmf_sa_session_close(&closed.handle, 0), IBMF_SUCCESS);
            recorders[1].closed = true;
        });
        sim.run();
        for (event_recorder* const each : {&recorders[0], &recorders[2]}) {
            ASSERT_EQ(each->received.size(), count);
            // The sender of a Report gives up when its response is delayed, and the next may
            // overtake it.
            std::vector<std::uint64_t> order;
            for (const auto& [number, event] : each->received)
                order.push_back(event.details.ie_gid.gid_guid);
            std::erase_if(order, [&](std::uint64_t i) { return !completed.at(i); });
            std::vector<std::uint64_t> sent;
            for (std::uint64_t i = 0; i < count; ++i)
                if (completed[i]) sent.push_back(i);
            EXPECT_EQ(order, sent);
        }
    });
}

} // namespace
