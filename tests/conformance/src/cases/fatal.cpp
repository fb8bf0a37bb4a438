// The fatal event, and the calls that work after it.
#include "recorder.hpp"

namespace irpverbs::conformance {

namespace fatal_group {
namespace {

void no_waiter_latched_and_reported_once(world& here) {
    recorder heard;
    const ca listening(here, &recorder::ca_calls, &heard);
    ca silent(here);
    here.fail();
    here.fail();
    EXPECT_EQ(heard.wait_for(1)[0].event, IB_AE_LOCAL_FATAL);
    EXPECT_STATUS(status_of(get_fatal_event(silent)), STATUS_SUCCESS);
    verb_call second(get_fatal_event(silent));
    EXPECT_FALSE(second.done()) << "one event, two IRPs";
    silent.close();
    EXPECT_STATUS(second.status(), STATUS_CANCELLED);
    EXPECT_EQ(heard.count(), 1u);
}

void pended_waiter_completes(world& here) {
    const ca opened(here);
    verb_call first(get_fatal_event(opened));
    EXPECT_STATUS(first.returned(), STATUS_PENDING);
    here.fail();
    EXPECT_STATUS(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(first.information(), 0u);
}

void event_reaches_up_call_and_irp(world& here) {
    recorder heard;
    ca opened(here, &recorder::ca_calls, &heard);
    verb_call waiter(get_fatal_event(opened));
    here.fail();
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(heard.wait_for(1)[0].event, IB_AE_LOCAL_FATAL);
    verb_call later(get_fatal_event(opened));
    EXPECT_FALSE(later.done()) << "latched, though an up-call took it";
    opened.close();
    EXPECT_EQ(heard.count(), 1u);
}

void later_verbs_return_forced_closed(world& here) {
    ca opened(here);
    cq queue(cq_if_there_is(opened));
    const good_calls calls(opened, queue);
    here.fail();
    must(get_fatal_event(opened));
    std::vector<verb> all = calls.all();
    all.push_back(open_ca(here.fdo()));
    all.push_back(get_port_event(opened));
    all.push_back(create_cq(opened, 1));
    if (queue.get() != nullptr) {
        all.push_back(get_comp_event(queue));
        all.push_back(get_async_event(queue));
    }
    for (const verb& each : all)
        EXPECT_STATUS(verb_call(each).status(), STATUS_FILE_FORCED_CLOSED) << each.name;
}

void close_and_destroy_succeed(world& here) {
    ca opened(here);
    cq queue(cq_if_there_is(opened));
    here.fail();
    must(get_fatal_event(opened));
    if (queue.get() != nullptr) {
        EXPECT_STATUS(verb_call(close_ca(opened)).status(), STATUS_DEVICE_BUSY);
        queue.destroy();
    }
    opened.close();
}

void latched_port_events_are_kept(world& here) {
    recorder witness;
    const ca seeing(here, &recorder::ca_calls, &witness);
    const ca opened(here);
    here.raise(IB_AE_CLIENT_REREGISTER);
    here.fail();
    witness.wait_for(2);
    EXPECT_EQ(must(get_port_event(opened)), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    EXPECT_STATUS(status_of(get_port_event(opened)), STATUS_FILE_FORCED_CLOSED);
}

constexpr const char* forced = "completes STATUS_FILE_FORCED_CLOSED after a fatal event (except "
                               "close, destroy and waits for latched events)";
constexpr const char* waits = "Waits for a catastrophic error of the HCA; any number of IRPs may "
                              "wait, and an event completes one of them.";

constexpr test_case cases[] = {
    {"FatalEvent.PendedWaiter_Completes", waits, fatal_events, kind::steps,
     pended_waiter_completes},
    {"FatalEvent.NoWaiter_LatchedAndReportedOnce", waits, fatal_events, kind::steps,
     no_waiter_latched_and_reported_once},
    {"FatalEvent.Event_ReachesUpCallAndIrp",
     "An event goes to the up-call, if there is one, and completes the oldest IRP that waits for "
     "it, if there is one.",
     fatal_events, kind::steps, event_reaches_up_call_and_irp},
    {"FatalEvent.LaterVerbs_ReturnForcedClosed", forced, fatal_events, kind::steps,
     later_verbs_return_forced_closed},
    {"FatalEvent.CloseAndDestroy_Succeed", forced, fatal_events, kind::steps,
     close_and_destroy_succeed},
    {"FatalEvent.LatchedPortEvents_AreKept", forced, fatal_events | port_events, kind::steps,
     latched_port_events_are_kept},
};

} // namespace
} // namespace fatal_group

const std::span<const test_case> fatal_cases = fatal_group::cases;

} // namespace irpverbs::conformance
