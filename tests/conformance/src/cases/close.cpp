// Close: CiCloseCa from every kind of caller and during every other verb.
#include "datagrams.hpp"

namespace irpverbs::conformance {

namespace close_group {
namespace {

void success_information_is_zero(world& here) { EXPECT_EQ(must(close_ca(ca(here).release())), 0u); }

void children_open_returns_device_busy(world& here) {
    ca opened(here);
    cq child(opened.get());
    verb_call waiting(get_port_event(opened));
    EXPECT_STATUS(status_of(close_ca(opened)), STATUS_DEVICE_BUSY);
    EXPECT_FALSE(waiting.done()) << "a refused close cancelled what is pended";
    EXPECT_EQ(whole_port(opened).as<IB_PORT_ATTR>().PortNumber, 1);
    child.destroy();
    opened.close();
    EXPECT_STATUS(waiting.status(), STATUS_CANCELLED);
}

// Closes, and checks the pended IRPs as soon as the close has returned.
NTSTATUS close_and_look(IB_CA* which, std::initializer_list<const verb_call*> pended, IRP* irp) {
    const NTSTATUS status = CiCloseCa(which, nullptr, irp);
    for (const verb_call* each : pended)
        EXPECT_TRUE(each->done()) << "pended when close had returned";
    return status;
}

void pended_waits_cancelled_before_return(world& here) {
    ca opened(here);
    verb_call fatal(get_fatal_event(opened));
    verb_call first(get_port_event(opened));
    verb_call second(get_port_event(opened));
    for (verb_call* each : {&fatal, &first, &second})
        EXPECT_STATUS(each->returned(), STATUS_PENDING);
    verb_call close([&](IRP* irp) {
        return close_and_look(opened.release(), {&fatal, &first, &second}, irp);
    });
    for (verb_call* each : {&fatal, &first, &second})
        EXPECT_STATUS(each->status(), STATUS_CANCELLED);
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

// Closes inside the up-call that `happening` causes.
void close_inside(world& here, const std::function<void()>& happening) {
    recorder heard;
    verb_call close;
    ca opened(here, &recorder::ca_calls, &heard);
    close.on_completion([&] { heard.close(); });
    heard.inside = [&] {
        close.send(close_ca(opened));
        EXPECT_FALSE(close.done()) << "completed while an up-call runs";
    };
    happening();
    heard.wait_for(1);
    opened.release();
    EXPECT_STATUS(close.returned(), STATUS_PENDING);
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

void inside_up_call_completes(world& here) {
    close_inside(here, [&] { here.raise(IB_AE_CLIENT_REREGISTER); });
}

void inside_fatal_up_call_completes(world& here) {
    close_inside(here, [&] { here.fail(); });
}

void close_pending_verbs_return_file_closed(world& here) {
    recorder heard;
    verb_call close;
    ca opened(here, &recorder::ca_calls, &heard);
    const IB_MAD_AGENT_ATTR attr = agent_attr(false);
    const good_calls calls(opened, nullptr);
    std::vector<verb> all = calls.all();
    for (const verb& each : {get_fatal_event(opened), get_port_event(opened), create_cq(opened, 4),
                             register_agent(opened, &attr), close_ca(opened)})
        all.push_back(each);
    late_calls late(all);
    heard.inside = [&] {
        close.send(close_ca(opened));
        late.send();
    };
    here.raise(IB_AE_CLIENT_REREGISTER);
    heard.wait_for(1);
    opened.release();
    late.expect_closed();
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

void cancel_after_begin_has_no_effect(world& here) {
    recorder heard;
    verb_call close;
    ca opened(here, &recorder::ca_calls, &heard);
    heard.inside = [&] {
        close.send(close_ca(opened));
        close.cancel();
        EXPECT_FALSE(close.done());
    };
    here.raise(IB_AE_CLIENT_REREGISTER);
    heard.wait_for(1);
    opened.release();
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

void inside_completion_routine_completes(world& here) {
    ca opened(here);
    verb_call close;
    verb_call waiter;
    waiter.on_completion([&] { close.send(close_ca(opened.release())); });
    waiter.send(get_port_event(opened));
    here.raise(IB_AE_CLIENT_REREGISTER);
    EXPECT_STATUS(waiter.status(), STATUS_SUCCESS);
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

// The query completes, or is cancelled before its turn; the close completes last.
void query_in_progress_close_pends(world& here) {
    ca opened(here);
    IB_PORT_ATTR attr{};
    verb_call query;
    verb_call waiter(get_port_event(opened));
    verb_call close;
    close.on_completion([&] { EXPECT_TRUE(query.done()) << "closed with a query under way"; });
    world::together({[&] {
                         const at_dispatch_level both;
                         query.send(query_port(opened, 1, &attr, sizeof(attr)));
                         close.send(close_ca(opened.release()));
                     },
                     [&] { query.cancel(); }});
    EXPECT_STATUS(waiter.status(), STATUS_CANCELLED);
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
}

void races_with_cancel_and_event_all_complete(world& here) {
    ca opened(here);
    verb_call waiter(get_port_event(opened));
    verb_call close;
    world::together({[&] { waiter.cancel(); }, [&] { here.raise(IB_AE_CLIENT_REREGISTER); },
                     [&] { close.send(close_ca(opened.release())); }});
    EXPECT_STATUS(close.status(), STATUS_SUCCESS);
    EXPECT_TRUE(waiter.status() == STATUS_SUCCESS || waiter.status() == STATUS_CANCELLED);
}

constexpr const char* pended = "Pended event IRPs complete STATUS_CANCELLED before this returns.";
constexpr const char* inside = "an up-call may close its object.";
constexpr const char* waits =
    "The close pends until verbs under way and a running up-call have ended.";

constexpr test_case cases[] = {
    {"CloseCa.Success_InformationIsZero", "Information is 0 unless a verb says otherwise.", nothing,
     kind::steps, success_information_is_zero},
    {"CloseCa.ChildrenOpen_ReturnsDeviceBusy",
     "STATUS_DEVICE_BUSY: objects created with it remain; nothing changed.", nothing, kind::steps,
     children_open_returns_device_busy},
    {"CloseCa.PendedWaits_CancelledBeforeReturn", pended, nothing, kind::steps,
     pended_waits_cancelled_before_return},
    {"CloseCa.InsideUpCall_Completes", inside, port_events | dispatch_callers, kind::steps,
     inside_up_call_completes},
    {"CloseCa.InsideFatalUpCall_Completes", inside, fatal_events | dispatch_callers, kind::steps,
     inside_fatal_up_call_completes},
    {"CloseCa.ClosePending_VerbsReturnFileClosed",
     "STATUS_FILE_CLOSED when the object is being closed", port_events | dispatch_callers,
     kind::steps, close_pending_verbs_return_file_closed},
    {"CloseCa.CancelAfterBegin_HasNoEffect", "Close and destroy, once begun, are not cancelled;",
     port_events | dispatch_callers, kind::steps, cancel_after_begin_has_no_effect},
    {"CloseCa.InsideCompletionRoutine_Completes",
     "Closing is legal from inside an up-call and from inside a completion routine.",
     port_events | dispatch_callers, kind::steps, inside_completion_routine_completes},
    {"CloseCa.QueryInProgress_ClosePends", waits, dispatch_callers, kind::race,
     query_in_progress_close_pends},
    {"CloseCa.RacesWithCancelAndEvent_AllComplete", waits, port_events, kind::race,
     races_with_cancel_and_event_all_complete},
};

} // namespace
} // namespace close_group

const std::span<const test_case> close_cases = close_group::cases;

} // namespace irpverbs::conformance
