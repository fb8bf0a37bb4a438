// Cancellation at every point at which a verb may be suspended: the schedules of sender and
// canceller place it before the call, inside it, while the verb is pended, and after it.
#include "world.hpp"

namespace irpverbs::conformance {

namespace cancel_group {
namespace {

// Sends the verb while another actor cancels its IRP.
NTSTATUS status_when_cancelled(verb_call& call, const verb& asked) {
    world::together({[&] { call.send(asked); }, [&] { call.cancel(); }});
    return call.status();
}

bool is_done_or_cancelled(NTSTATUS status) {
    return status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW ||
           status == STATUS_CANCELLED || status == STATUS_NOT_SUPPORTED;
}

void races_with_open_completes_once(world& here) {
    verb_call open;
    if (status_when_cancelled(open, open_ca(here.fdo())) == STATUS_SUCCESS) {
        EXPECT_STATUS(verb_call(close_ca(open.object<IB_CA>())).status(), STATUS_SUCCESS);
    } else {
        EXPECT_STATUS(open.status(), STATUS_CANCELLED);
        EXPECT_EQ(open.information(), 0u);
    }
} // the world's end finds no open CA

// The close of the CA shows whether a queue exists.
void races_with_create_completes_once(world& here) {
    ca opened(here);
    verb_call create;
    const NTSTATUS status = status_when_cancelled(create, create_cq(opened, 4));
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiCreateCq returns STATUS_NOT_SUPPORTED"};
    if (status == STATUS_SUCCESS) {
        EXPECT_STATUS(status_of(close_ca(opened)), STATUS_DEVICE_BUSY);
        EXPECT_STATUS(status_of(destroy_cq(create.object<IB_CQ>())), STATUS_SUCCESS);
    } else {
        EXPECT_STATUS(status, STATUS_CANCELLED);
    }
    opened.close();
}

void races_with_close_close_succeeds(world& here) {
    ca opened(here);
    verb_call close;
    EXPECT_STATUS(status_when_cancelled(close, close_ca(opened.release())), STATUS_SUCCESS);
}

void races_with_destroy_destroy_succeeds(world& here) {
    ca opened(here);
    cq queue(opened.get());
    verb_call destroy;
    EXPECT_STATUS(status_when_cancelled(destroy, destroy_cq(queue.release())), STATUS_SUCCESS);
    opened.close();
}

void races_with_query_and_modify_completes_once(world& here) {
    const ca opened(here);
    const good_calls calls(opened, nullptr);
    for (const verb& each : calls.all()) {
        verb_call call;
        EXPECT_TRUE(is_done_or_cancelled(status_when_cancelled(call, each)))
            << each.name << ": " << name_of(call.status());
    }
}

void races_with_cq_verbs_completes_once(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    IB_CQ_ATTR attr{};
    for (const verb& each : {query_cq(queue, &attr, sizeof(attr)), resize_cq(queue, 16)}) {
        verb_call call;
        EXPECT_TRUE(is_done_or_cancelled(status_when_cancelled(call, each)))
            << each.name << ": " << name_of(call.status());
    }
}

// No event happens that could complete the waiter: once sent and cancelled, it is cancelled.
void races_with_wait_completes_once(world& here) {
    const ca opened(here);
    for (const verb& each : {get_port_event(opened), get_fatal_event(opened)}) {
        verb_call call;
        EXPECT_STATUS(status_when_cancelled(call, each), STATUS_CANCELLED) << each.name;
    }
}

void races_with_cq_wait_completes_once(world& here) {
    const ca opened(here);
    const cq queue(opened.get());
    for (const verb& each : {get_comp_event(queue), get_async_event(queue)}) {
        verb_call call;
        EXPECT_STATUS(status_when_cancelled(call, each), STATUS_CANCELLED) << each.name;
    }
}

// Cancels IRPs from the middle of the queue, at DISPATCH_LEVEL, each exactly once.
void pended_waits_in_any_order_all_cancelled(world& here) {
    const ca opened(here);
    verb_call first(get_port_event(opened));
    verb_call second(get_port_event(opened));
    verb_call third(get_port_event(opened));
    for (verb_call* each : {&second, &third, &first}) {
        {
            const at_dispatch_level caller;
            EXPECT_TRUE(each->cancel());
        }
        EXPECT_STATUS(each->status(), STATUS_CANCELLED);
        EXPECT_FALSE(each->cancel()) << "there is nothing left to cancel";
    }
}

void completed_irp_has_no_effect(world& here) {
    const ca opened(here);
    IB_PORT_ATTR attr{};
    verb_call query(query_port(opened, 1, &attr, sizeof(attr)));
    const NTSTATUS status = query.status();
    query.cancel();
    EXPECT_STATUS(query.status(), status);
}

// Sends an IRP that was cancelled before.
void before_call_verb_is_cancelled(world& here) {
    const ca opened(here);
    verb_call waiter;
    waiter.cancel();
    waiter.send(get_port_event(opened));
    EXPECT_STATUS(waiter.status(), STATUS_CANCELLED);
}

constexpr const char* cancelled = "completes STATUS_CANCELLED when IoCancelIrp is called while it "
                                  "is pended and has not taken effect; a result that exists wins.";
constexpr const char* not_cancelled = "Close and destroy, once begun, are not cancelled";

constexpr test_case cases[] = {
    {"Cancel.PendedWaitsInAnyOrder_AllCancelled", cancelled, nothing, kind::steps,
     pended_waits_in_any_order_all_cancelled},
    {"Cancel.CompletedIrp_HasNoEffect", "Cancel is a request. A result already there wins.",
     nothing, kind::steps, completed_irp_has_no_effect},
    {"Cancel.BeforeCall_VerbIsCancelled", "Arm, then test `Irp->Cancel` again.", nothing,
     kind::steps, before_call_verb_is_cancelled},
    {"Cancel.RacesWithOpen_CompletesOnce", cancelled, nothing, kind::race,
     races_with_open_completes_once},
    {"Cancel.RacesWithCreate_CompletesOnce", cancelled, nothing, kind::race,
     races_with_create_completes_once},
    {"Cancel.RacesWithClose_CloseSucceeds", not_cancelled, nothing, kind::race,
     races_with_close_close_succeeds},
    {"Cancel.RacesWithDestroy_DestroySucceeds", not_cancelled, nothing, kind::race,
     races_with_destroy_destroy_succeeds},
    {"Cancel.RacesWithQueryAndModify_CompletesOnce", cancelled, nothing, kind::race,
     races_with_query_and_modify_completes_once},
    {"Cancel.RacesWithCqVerbs_CompletesOnce", cancelled, nothing, kind::race,
     races_with_cq_verbs_completes_once},
    {"Cancel.RacesWithWait_CompletesOnce", "Every pended verb can be cancelled", nothing,
     kind::race, races_with_wait_completes_once},
    {"Cancel.RacesWithCqWait_CompletesOnce", "Every pended verb can be cancelled", nothing,
     kind::race, races_with_cq_wait_completes_once},
};

} // namespace
} // namespace cancel_group

const std::span<const test_case> cancel_cases = cancel_group::cases;

} // namespace irpverbs::conformance
