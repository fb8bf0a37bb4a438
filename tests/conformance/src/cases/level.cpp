// Callers at each IRQL, callers in C, and callers whose requests all pend.
#include "c_client.h"
#include "datagrams.hpp"

#include <irp/verifier.hpp>

namespace irpverbs::conformance {

namespace level_group {
namespace {

bool is_done(NTSTATUS status) {
    return status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW ||
           status == STATUS_NOT_SUPPORTED;
}

/// The verb, called at that IRQL; a pended one may complete at any other.
verb at(KIRQL level, const verb& asked) {
    return {asked.name, [=](IRP* irp) {
                KIRQL before = PASSIVE_LEVEL;
                KeRaiseIrql(level, &before);
                const NTSTATUS status = asked(irp);
                EXPECT_EQ(KeGetCurrentIrql(), level) << asked.name << " left another IRQL";
                KeLowerIrql(before);
                return status;
            }};
}

// The sender receives its own datagram. Without management there is no verb to call.
void call_all_of_an_agent(IB_CA* by, KIRQL level) {
    const IB_MAD_AGENT_ATTR attr = agent_attr(true);
    const datagram one(by, 1);
    reception waiter;
    verb_call made(at(level, register_agent(by, &attr)));
    EXPECT_TRUE(is_done(made.status())) << name_of(made.status());
    if (made.status() != STATUS_SUCCESS) return;
    auto* agent = made.object<IB_MAD_AGENT>();
    waiter.call.send(at(level, get_mad(agent, &waiter.into)));
    EXPECT_STATUS(verb_call(at(level, send_mad(agent, one.get()))).status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.number(), 1u);
    EXPECT_STATUS(verb_call(at(level, deregister_agent(agent))).status(), STATUS_SUCCESS);
}

// Calls all verbs except waits for events, from the open to the close.
void call_all(world& here, KIRQL level) {
    verb_call open(at(level, open_ca(here.fdo())));
    ASSERT_STREQ(name_of(open.status()), "STATUS_SUCCESS");
    auto* opened = open.object<IB_CA>();
    verb_call create(at(level, create_cq(opened, 4)));
    EXPECT_TRUE(is_done(create.status()));
    auto* queue = create.object<IB_CQ>();
    const good_calls calls(opened, queue);
    for (const verb& each : calls.all()) {
        const NTSTATUS status = verb_call(at(level, each)).status();
        EXPECT_TRUE(is_done(status)) << each.name << ": " << name_of(status);
    }
    call_all_of_an_agent(opened, level);
    if (queue != nullptr) {
        EXPECT_STATUS(verb_call(at(level, destroy_cq(queue))).status(), STATUS_SUCCESS);
    }
    EXPECT_STATUS(verb_call(at(level, close_ca(opened))).status(), STATUS_SUCCESS);
}

void dispatch_level_completes(world& here) { call_all(here, DISPATCH_LEVEL); }
void apc_level_completes(world& here) { call_all(here, APC_LEVEL); }

void waiters_of_a_queue_at_dispatch(IB_CA* of) {
    cq queue(cq_if_there_is(of));
    if (queue.get() == nullptr) return;
    verb_call completion(at(DISPATCH_LEVEL, get_comp_event(queue)));
    verb_call error(at(DISPATCH_LEVEL, get_async_event(queue)));
    EXPECT_STATUS(completion.returned(), STATUS_PENDING);
    EXPECT_STATUS(error.returned(), STATUS_PENDING);
    EXPECT_STATUS(verb_call(at(DISPATCH_LEVEL, destroy_cq(queue.release()))).status(),
                  STATUS_SUCCESS);
    EXPECT_STATUS(completion.status(), STATUS_CANCELLED);
    EXPECT_STATUS(error.status(), STATUS_CANCELLED);
}

void dispatch_level_pend(world& here) {
    ca opened(here);
    verb_call port(at(DISPATCH_LEVEL, get_port_event(opened)));
    verb_call fatal(at(DISPATCH_LEVEL, get_fatal_event(opened)));
    EXPECT_STATUS(port.returned(), STATUS_PENDING);
    EXPECT_STATUS(fatal.returned(), STATUS_PENDING);
    waiters_of_a_queue_at_dispatch(opened);
    EXPECT_STATUS(verb_call(at(DISPATCH_LEVEL, close_ca(opened.release()))).status(),
                  STATUS_SUCCESS);
    EXPECT_STATUS(port.status(), STATUS_CANCELLED);
    EXPECT_STATUS(fatal.status(), STATUS_CANCELLED);
}

void forced_pending_completes_once(world& here) {
    const auto summary = irp::force_pending_sweep([&] { call_all(here, PASSIVE_LEVEL); });
    EXPECT_GE(summary.runs, 1u);
}

void called_from_c_completes_once(world& here) {
    const ca opened(here);
    const datagram one(opened, 1);
    const CONFORMANCE_C_DATAGRAM itself{agent_attr(true), one.get()};
    const CONFORMANCE_C_RESULT result = ConformanceCClient(here.fdo(), &itself);
    EXPECT_EQ(result.Line, 0) << "c_client.c: " << name_of(result.Status);
}

void c_client_receives_events(world& here) {
    const auto raise = [](void* world_of, IB_ASYNC_EVENT event) {
        return static_cast<world*>(world_of)->try_to_raise(event);
    };
    const CONFORMANCE_C_RESULT result = ConformanceCListener(here.fdo(), raise, &here);
    EXPECT_EQ(result.Line, 0) << "c_client.c: " << name_of(result.Status);
    if (result.Status == STATUS_NOT_SUPPORTED) throw skipped{"the adapter can't raise the event"};
}

constexpr const char* any_level = "may be called at IRQL <= DISPATCH_LEVEL;";

constexpr test_case cases[] = {
    {"EveryVerb.DispatchLevel_Completes", any_level, dispatch_callers, kind::steps,
     dispatch_level_completes},
    {"EveryVerb.ApcLevel_Completes", any_level, nothing, kind::steps, apc_level_completes},
    {"Waiters.DispatchLevel_Pend", any_level, dispatch_callers, kind::steps, dispatch_level_pend},
    {"EveryVerb.ForcedPending_CompletesOnce",
     "It returns the status that the IRP was completed with, or STATUS_PENDING and completes it "
     "later.",
     nothing, kind::steps, forced_pending_completes_once},
    {"EveryVerb.CalledFromC_CompletesOnce",
     "completes pIrp exactly once, also when it fails at once.", nothing, kind::steps,
     called_from_c_completes_once},
    {"UpCall.CClient_ReceivesEvents",
     "An event goes to the up-call, if there is one, and completes the oldest IRP that waits for "
     "it, if there is one.",
     port_events, kind::steps, c_client_receives_events},
};

} // namespace
} // namespace level_group

const std::span<const test_case> level_cases = level_group::cases;

} // namespace irpverbs::conformance
