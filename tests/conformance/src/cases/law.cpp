// The laws of requests, as far as they are visible to a client.
#include "world.hpp"

#include <dispatch/testing/fault_sweep.hpp>

namespace irpverbs::conformance {

namespace law_group {
namespace {

void failing_verb_completes_exactly_once(world& here) {
    const ca opened(here);
    IB_PORT_ATTR attr{};
    const IB_MODIFY_PORT modify{};
    for (const verb& each :
         {query_port(opened, 255, &attr, sizeof(attr)), query_port(opened, 1, &attr, 0),
          modify_port(opened, 1, ~0u, &modify), modify_ca(opened, ~0u, nullptr),
          create_cq(opened, 0), get_port_event(opened, 255), query_ca(opened, &attr, 3)}) {
        verb_call call(each); // its destructor expects one completion, as returned
        EXPECT_FALSE(NT_SUCCESS(call.status())) << each.name;
        EXPECT_EQ(call.information(), 0u) << each.name;
    }
}

NTSTATUS keep(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/// An IRP with a location of the caller's own above the HCA's.
struct tall_irp {
    IRP* irp = IoAllocateIrp(2, FALSE);
    IO_STACK_LOCATION* own = nullptr;
    KEVENT completed;

    tall_irp() {
        KeInitializeEvent(&completed, NotificationEvent, FALSE);
        IoSetNextIrpStackLocation(irp);
        own = IoGetCurrentIrpStackLocation(irp);
        own->MajorFunction = IRP_MJ_READ;
        own->MinorFunction = 7;
        own->Parameters.Read.Length = 123;
        IoSetCompletionRoutine(irp, keep, &completed, TRUE, TRUE, TRUE);
    }
    ~tall_irp() { IoFreeIrp(irp); }
    tall_irp(const tall_irp&) = delete;
    tall_irp& operator=(const tall_irp&) = delete;
};

void callers_location_stays_unchanged(world& here) {
    const ca opened(here);
    IB_PORT_ATTR attr{};
    for (const bool waits : {false, true}) {
        tall_irp mine;
        if (waits) {
            CiGetCaPortEvent(opened, 1, mine.irp);
            IoCancelIrp(mine.irp);
        } else {
            CiQueryPort(opened, 1, sizeof(attr), &attr, mine.irp);
        }
        KeWaitForSingleObject(&mine.completed, Executive, KernelMode, FALSE, nullptr);
        EXPECT_EQ(IoGetCurrentIrpStackLocation(mine.irp), mine.own);
        EXPECT_EQ(mine.own->MajorFunction, IRP_MJ_READ);
        EXPECT_EQ(mine.own->MinorFunction, 7);
        EXPECT_EQ(mine.own->Parameters.Read.Length, 123u);
    }
}

// The verifier reports every later access to the freed IRP.
NTSTATUS free_it(DEVICE_OBJECT*, IRP* irp, void* event) {
    IoFreeIrp(irp);
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

void completed_irp_may_be_freed(world& here) {
    const ca opened(here);
    const cq queue(cq_if_there_is(opened));
    const good_calls calls(opened, queue);
    for (const verb& each : calls.all()) {
        KEVENT freed;
        KeInitializeEvent(&freed, NotificationEvent, FALSE);
        IRP* irp = IoAllocateIrp(1, FALSE);
        IoSetCompletionRoutine(irp, free_it, &freed, TRUE, TRUE, TRUE);
        each(irp);
        KeWaitForSingleObject(&freed, Executive, KernelMode, FALSE, nullptr);
    }
}

// If a lock were held across the completion, this would never return.
void completion_runs_without_lock(world& here) {
    const ca opened(here);
    IB_PORT_ATTR attr{};
    verb_call inner;
    verb_call outer;
    outer.on_completion([&] { inner.send(query_port(opened, 1, &attr, sizeof(attr))); });
    outer.send(get_port_event(opened));
    here.raise(IB_AE_CLIENT_REREGISTER);
    EXPECT_STATUS(outer.status(), STATUS_SUCCESS);
    EXPECT_NE(inner.status(), STATUS_PENDING);
}

// Many requests in sequence, some of them cancelled, leave nothing behind.
void shutdown_drains(world& here) {
    ca opened(here);
    std::vector<verb_call> pended;
    pended.reserve(8);
    for (int i = 0; i < 8; ++i)
        pended.emplace_back(get_port_event(opened));
    pended[3].cancel();
    pended[0].cancel();
    opened.close();
    for (verb_call& each : pended)
        EXPECT_STATUS(each.status(), STATUS_CANCELLED);
}

bool done_or_short(verb_call& call) {
    const NTSTATUS status = call.status();
    EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW ||
                status == STATUS_INSUFFICIENT_RESOURCES || status == STATUS_NOT_SUPPORTED)
        << name_of(status);
    return status == STATUS_SUCCESS;
}

// Tries each verb alone, for the kernel and for a user, whose buffers are bounced.
void verbs_say_when_memory_runs_short(IB_CA* opened, IB_CQ* queue) {
    const good_calls calls(opened, queue);
    for (const verb& each : calls.all())
        for (const verb& asked : {each, for_user(each)})
            dispatch::fault_sweep([&](dispatch::sweep& faults) {
                verb_call call;
                const dispatch::fault_plan plan(dispatch::machine::current(), faults);
                call.send(asked);
                done_or_short(call);
            });
}

// A verb reports every allocation failure, and leaves the earlier state unchanged.
void allocation_failure_returns_insufficient_resources(world& here) {
    dispatch::fault_sweep([&](dispatch::sweep& faults) {
        verb_call open;
        verb_call create;
        verb_call resize;
        verb_call destroy;
        verb_call close;
        const dispatch::fault_plan plan(dispatch::machine::current(), faults);
        open.send(open_ca(here.fdo()));
        if (!done_or_short(open)) return;
        create.send(create_cq(open.object<IB_CA>(), 4));
        if (done_or_short(create)) {
            resize.send(resize_cq(create.object<IB_CQ>(), 16));
            done_or_short(resize);
            destroy.send(destroy_cq(create.object<IB_CQ>()));
            EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
        }
        close.send(close_ca(open.object<IB_CA>()));
        EXPECT_STATUS(close.status(), STATUS_SUCCESS);
    });
    const ca opened(here);
    const cq queue(cq_if_there_is(opened));
    verbs_say_when_memory_runs_short(opened, queue);
}

void completion_needs_no_memory(world& here) {
    dispatch::fault_sweep([&](dispatch::sweep& faults) {
        const ca opened(here);
        verb_call event(get_port_event(opened));
        verb_call cancelled(get_port_event(opened));
        const dispatch::fault_plan plan(dispatch::machine::current(), faults);
        here.raise(IB_AE_CLIENT_REREGISTER);
        EXPECT_STATUS(event.status(), STATUS_SUCCESS);
        cancelled.cancel();
        EXPECT_STATUS(cancelled.status(), STATUS_CANCELLED);
    });
}

// Every 64th seed runs twice, and both runs must be equal.
void same_seed_same_run(world& here) {
    const ca opened(here);
    verb_call waiter;
    IB_PORT_ATTR attr{};
    world::together({[&] { waiter.send(get_port_event(opened)); }, [&] { const ca passing(here); },
                     [&] { verb_call(query_port(opened, 1, &attr, sizeof(attr))); },
                     [&] { waiter.cancel(); }});
    EXPECT_STATUS(waiter.status(), STATUS_CANCELLED);
}

constexpr test_case cases[] = {
    {"Law.FailingVerb_CompletesExactlyOnce",
     "completes pIrp exactly once, also when it fails at once.", nothing, kind::steps,
     failing_verb_completes_exactly_once},
    {"Law.CallersLocation_StaysUnchanged", "the caller's own location stays as it is;", nothing,
     kind::steps, callers_location_stays_unchanged},
    {"Law.CompletedIrp_MayBeFreed", "Lent down, returned up.", nothing, kind::steps,
     completed_irp_may_be_freed},
    {"Law.Completion_RunsWithoutLock",
     "No lock across a completion, nor across a call into another driver or an up-call.",
     port_events | dispatch_callers, kind::steps, completion_runs_without_lock},
    {"Law.Shutdown_Drains", "Shutdown drains.", nothing, kind::steps, shutdown_drains},
    {"Law.AllocationFailure_ReturnsInsufficientResources", "STATUS_INSUFFICIENT_RESOURCES.",
     nothing, kind::steps, allocation_failure_returns_insufficient_resources},
    {"Law.Completion_NeedsNoMemory", "Reserve, then start.", port_events, kind::steps,
     completion_needs_no_memory},
    {"Law.SameSeed_SameRun",
     "Nothing reads a clock, a random number or a thread id except through the machine.", nothing,
     kind::race, same_seed_same_run},
};

} // namespace
} // namespace law_group

const std::span<const test_case> law_cases = law_group::cases;

} // namespace irpverbs::conformance
