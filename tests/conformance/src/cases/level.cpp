// Callers at each IRQL, callers in C, and callers whose every request pends.
#include "c_client.h"
#include "world.hpp"

#include <irp/verifier.hpp>

namespace irpverbs::conformance {

namespace {

bool is_done(NTSTATUS status) {
    return status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW ||
           status == STATUS_NOT_SUPPORTED;
}

/// The verb, called at that level; what it pends for may end at any other.
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

// All verbs but those that wait, from the open to the close.
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
    if (queue != nullptr) {
        EXPECT_STATUS(verb_call(at(level, destroy_cq(queue))).status(), STATUS_SUCCESS);
    }
    EXPECT_STATUS(verb_call(at(level, close_ca(opened))).status(), STATUS_SUCCESS);
}

void at_dispatch(world& here) { call_all(here, DISPATCH_LEVEL); }
void at_apc(world& here) { call_all(here, APC_LEVEL); }

void waiters_at_dispatch(world& here) {
    ca opened(here);
    verb_call port(at(DISPATCH_LEVEL, get_port_event(opened)));
    verb_call fatal(at(DISPATCH_LEVEL, get_fatal_event(opened)));
    EXPECT_STATUS(port.returned(), STATUS_PENDING);
    EXPECT_STATUS(fatal.returned(), STATUS_PENDING);
    EXPECT_STATUS(verb_call(at(DISPATCH_LEVEL, close_ca(opened.release()))).status(),
                  STATUS_SUCCESS);
    EXPECT_STATUS(port.status(), STATUS_CANCELLED);
    EXPECT_STATUS(fatal.status(), STATUS_CANCELLED);
}

void forced_to_pend(world& here) {
    const auto summary = irp::force_pending_sweep([&] { call_all(here, PASSIVE_LEVEL); });
    EXPECT_GE(summary.runs, 1u);
}

void from_c(world& here) {
    const CONFORMANCE_C_RESULT result = ConformanceCClient(here.fdo());
    EXPECT_EQ(result.Line, 0) << "c_client.c: " << name_of(result.Status);
}

constexpr const char* any_level = "may be called at IRQL <= DISPATCH_LEVEL;";

constexpr test_case cases[] = {
    {"EveryVerb.AtDispatchLevel", any_level, dispatch_callers, kind::steps, at_dispatch},
    {"EveryVerb.AtApcLevel", any_level, nothing, kind::steps, at_apc},
    {"Waiters.AtDispatchLevel", any_level, dispatch_callers, kind::steps, waiters_at_dispatch},
    {"EveryVerb.ForcedToPend",
     "It returns the status that the IRP was completed with, or STATUS_PENDING and completes it "
     "later.",
     nothing, kind::steps, forced_to_pend},
    {"EveryVerb.FromC", "completes pIrp exactly once, also when it fails at once.", nothing,
     kind::steps, from_c},
};

} // namespace

const std::span<const test_case> level_cases = cases;

} // namespace irpverbs::conformance
