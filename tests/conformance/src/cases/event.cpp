// Port events: by IRP, by up-call, by both, and latched.
#include "recorder.hpp"

namespace irpverbs::conformance {

namespace event_group {
namespace {

constexpr IB_ASYNC_EVENT one_event = IB_AE_CLIENT_REREGISTER;
constexpr IB_ASYNC_EVENT other_event = IB_AE_SM_CHANGE;

void many_waiters_oldest_completes(world& here) {
    ca opened(here);
    verb_call first(get_port_event(opened));
    verb_call second(get_port_event(opened));
    EXPECT_STATUS(first.returned(), STATUS_PENDING);
    here.raise(one_event);
    EXPECT_STATUS(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(first.information(), static_cast<ULONG_PTR>(one_event));
    EXPECT_FALSE(second.done()) << "one event, two IRPs";
    here.raise(other_event);
    EXPECT_EQ(second.information(), static_cast<ULONG_PTR>(other_event));
}

void other_port_completes_no_waiter(world& here) {
    ca opened(here);
    verb_call other(get_port_event(opened, 2));
    if (other.done()) throw skipped{"the HCA has one port"};
    verb_call own(get_port_event(opened, 1));
    here.raise(one_event, 1);
    EXPECT_STATUS(own.status(), STATUS_SUCCESS);
    EXPECT_FALSE(other.done());
    opened.close();
    EXPECT_STATUS(other.status(), STATUS_CANCELLED);
}

/// An HCA of another process delivers at least one event that was raised before a verb with each.
void receive_events(IB_CA* ca, int count) {
    ULONG size = 0;
    for (int i = 0; i < count; ++i)
        EXPECT_STATUS(status_of(query_ca(ca, &size, sizeof(size))), STATUS_BUFFER_OVERFLOW);
}

// A witness with an up-call waits for the events, so they have been delivered when it has seen
// them.
void no_waiter_latched_once(world& here) {
    recorder witness;
    const ca seeing(here, &recorder::ca_calls, &witness);
    ca opened(here);
    here.raise(other_event);
    here.raise(one_event);
    here.raise(other_event);
    witness.wait_for(3);
    receive_events(opened, 3);
    verb_call first(get_port_event(opened));
    verb_call second(get_port_event(opened));
    verb_call third(get_port_event(opened));
    EXPECT_EQ(first.information(), static_cast<ULONG_PTR>(one_event));
    EXPECT_EQ(second.information(), static_cast<ULONG_PTR>(other_event)) << "the later of two";
    EXPECT_FALSE(third.done()) << "equal events are latched once";
    opened.close();
}

void event_reaches_up_call_and_irp(world& here) {
    recorder heard;
    ca opened(here, &recorder::ca_calls, &heard);
    verb_call waiter(get_port_event(opened));
    here.raise(one_event);
    EXPECT_EQ(waiter.information(), static_cast<ULONG_PTR>(one_event));
    const auto calls = heard.wait_for(1);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].port, 1);
    EXPECT_EQ(calls[0].event, one_event);
    verb_call later(get_port_event(opened));
    EXPECT_FALSE(later.done()) << "latched, though an up-call took it";
    opened.close();
}

void event_runs_at_dispatch_level(world& here) {
    recorder heard;
    const ca opened(here, &recorder::ca_calls, &heard);
    here.raise(one_event);
    for (const recorder::up_call& each : heard.wait_for(1))
        EXPECT_EQ(each.level, DISPATCH_LEVEL);
}

void received_by_up_call_not_latched(world& here) {
    recorder heard;
    ca opened(here, &recorder::ca_calls, &heard);
    here.raise(one_event);
    heard.wait_for(1);
    verb_call later(get_port_event(opened));
    EXPECT_FALSE(later.done()) << "latched, though an up-call took it";
    opened.close();
}

void many_open_cas_each_receives_it(world& here) {
    recorder heard;
    const ca listening(here, &recorder::ca_calls, &heard);
    const ca waiting(here);
    const ca silent(here);
    verb_call waiter(get_port_event(waiting));
    here.raise(one_event);
    EXPECT_EQ(heard.wait_for(1).size(), 1u);
    EXPECT_EQ(waiter.information(), static_cast<ULONG_PTR>(one_event));
    verb_call latched(get_port_event(silent));
    EXPECT_EQ(latched.information(), static_cast<ULONG_PTR>(one_event));
}

void waiter_cancelled_event_is_latched(world& here) {
    const ca opened(here);
    verb_call cancelled(get_port_event(opened));
    verb_call next(get_port_event(opened));
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_STATUS(cancelled.status(), STATUS_CANCELLED);
    EXPECT_FALSE(next.done());
    here.raise(one_event);
    EXPECT_STATUS(next.status(), STATUS_SUCCESS);
}

// A client that reads the latched events of a link in their order ends with the link's actual
// state.
void events_repeated_latched_in_order_of_last_occurrence(world& here) {
    recorder witness;
    const ca seeing(here, &recorder::ca_calls, &witness);
    ca opened(here);
    here.raise(IB_AE_PORT_ERROR);
    here.raise(IB_AE_PORT_ACTIVE);
    here.raise(IB_AE_PORT_ERROR);
    witness.wait_for(3);
    EXPECT_EQ(must(get_port_event(opened)), static_cast<ULONG_PTR>(IB_AE_PORT_ACTIVE));
    EXPECT_EQ(must(get_port_event(opened)), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    here.raise(IB_AE_PORT_ACTIVE); // restores the state
}

constexpr const char* one_each = "any number of IRPs may wait, and an event completes the oldest.";
constexpr const char* both = "An event goes to the up-call, if there is one, and completes the "
                             "oldest IRP that waits for it, if there is one.";
constexpr const char* neither =
    "An event that neither took is latched: the next IRP that waits for it completes at once.";

constexpr test_case cases[] = {
    {"PortEvent.ManyWaiters_OldestCompletes", one_each, port_events, kind::steps,
     many_waiters_oldest_completes},
    {"PortEvent.OtherPort_CompletesNoWaiter", "Waits for an event of a port;", port_events,
     kind::steps, other_port_completes_no_waiter},
    {"PortEvent.NoWaiter_LatchedOnce",
     "Latched events are returned in the order of their last occurrence, equal ones once.",
     port_events, kind::steps, no_waiter_latched_once},
    {"PortEvent.EventsRepeated_LatchedInOrderOfLastOccurrence",
     "Latched events are returned in the order of their last occurrence, equal ones once.",
     port_events, kind::steps, events_repeated_latched_in_order_of_last_occurrence},
    {"PortEvent.Event_ReachesUpCallAndIrp", both, port_events, kind::steps,
     event_reaches_up_call_and_irp},
    {"PortEvent.ManyOpenCas_EachReceivesIt", both, port_events, kind::steps,
     many_open_cas_each_receives_it},
    {"PortEvent.ReceivedByUpCall_NotLatched", neither, port_events, kind::steps,
     received_by_up_call_not_latched},
    {"PortEvent.WaiterCancelled_EventIsLatched", neither, port_events, kind::steps,
     waiter_cancelled_event_is_latched},
    {"UpCall.Event_RunsAtDispatchLevel",
     "Up-calls run at DISPATCH_LEVEL, one at a time for each object, and never after its close has "
     "completed;",
     port_events, kind::steps, event_runs_at_dispatch_level},
};

} // namespace
} // namespace event_group

const std::span<const test_case> event_cases = event_group::cases;

} // namespace irpverbs::conformance
