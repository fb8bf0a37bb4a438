// Defects around locks, counts, events, DPCs and timers.
#define IRPVERBS_CHECKED_INLINES 1
#include "canary.hpp"

namespace canary {
namespace {

using irpverbs::dispatch::sim_machine;

constexpr ULONG timer_tag = 0x546d6972; // "rimT"

// The loop repeats while the exchange succeeds instead of while it fails.
std::optional<std::string> inverted_compare_exchange(sim_machine& sim) {
    LONG word = 0;
    int inside = 0;
    bool together = false;
    const auto enter = [&] {
        while (InterlockedCompareExchange(&word, 1, 0) == 0) {
        }
        together = together || ++inside > 1;
        sim.yield();
        --inside;
        InterlockedExchange(&word, 0);
    };
    sim.spawn("one", enter);
    sim.spawn("other", enter);
    sim.run();
    if (together) return "two were inside the lock";
    return std::nullopt;
}

// Both that let go of an object may see that none is left.
std::optional<std::string> reads_a_count_again(sim_machine& sim) {
    LONG references = 2;
    int freed = 0;
    const auto release = [&] {
        InterlockedDecrement(&references);
        if (references == 0) ++freed;
    };
    sim.spawn("one", release);
    sim.spawn("other", release);
    sim.run();
    if (freed != 1) return "freed " + std::to_string(freed) + " times";
    return std::nullopt;
}

// The DPC may complete the IRP on the other processor before it is marked.
struct late_marker {
    KDPC dpc;

    late_marker() {
        KeInitializeDpc(&dpc, complete_pended, nullptr);
        KeSetTargetProcessorDpc(&dpc, 1);
    }
    static void complete_pended(KDPC*, void*, void* irp, void*) {
        complete(static_cast<IRP*>(irp), STATUS_SUCCESS);
    }
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        IO_STACK_LOCATION* own = IoGetCurrentIrpStackLocation(irp);
        KeInsertQueueDpc(&state_of<late_marker>(device).dpc, irp, nullptr);
        own->Control |= SL_PENDING_RETURNED; // IoMarkIrpPending, of this location in any case
        return STATUS_PENDING;
    }
};

std::optional<std::string> marks_after_queueing_a_dpc(sim_machine& sim) {
    late_marker marker;
    fixture it(late_marker::dispatch, &marker);
    sim.spawn("send", [&] { it.send(0); });
    sim.run();
    return it.verdict();
}

std::optional<std::string> lowers_to_passive_inside(sim_machine&) {
    lock outer;
    lock inner;
    const lock_scope guard(outer);
    KeAcquireSpinLockRaiseToDpc(&inner.word);
    KeReleaseSpinLock(&inner.word, PASSIVE_LEVEL);
    KeRaiseIrqlToDpcLevel();
    return std::nullopt;
}

std::optional<std::string> clears_an_event_it_has_not_seen(sim_machine& sim) {
    KEVENT ready;
    bool flag = false;
    KeInitializeEvent(&ready, NotificationEvent, FALSE);
    sim.spawn("wait", [&] {
        if (flag) return;
        KeClearEvent(&ready);
        KeWaitForSingleObject(&ready, Executive, KernelMode, FALSE, nullptr);
    });
    sim.spawn("set", [&] {
        flag = true;
        KeSetEvent(&ready, IO_NO_INCREMENT, FALSE);
    });
    sim.run();
    return std::nullopt; // run() does not return from a hang
}

// A DPC that is already queued is not queued again, so the arguments of the second insertion are
// lost.
std::optional<std::string> relies_on_every_dpc_insertion(sim_machine& sim) {
    KDPC dpc;
    LONG served = 0;
    KeInitializeDpc(
        &dpc,
        [](KDPC*, void* context, void*, void*) {
            InterlockedIncrement(static_cast<LONG*>(context));
        },
        &served);
    KeSetTargetProcessorDpc(&dpc, 1);
    const auto ask = [&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); };
    sim.spawn("ask", ask);
    sim.spawn("ask", ask);
    sim.run();
    if (served != 2) return "a request was lost";
    return std::nullopt;
}

std::optional<std::string> frees_what_a_timer_uses(sim_machine& sim) {
    struct holder {
        KTIMER timer;
        KDPC dpc;
        bool alive = true;
        bool used_after_free = false;
    } state;
    KeInitializeTimer(&state.timer);
    KeInitializeDpc(
        &state.dpc,
        [](KDPC*, void* context, void*, void*) {
            auto& its = *static_cast<holder*>(context);
            its.used_after_free = its.used_after_free || !its.alive;
        },
        &state);
    LARGE_INTEGER due;
    due.QuadPart = -10;
    KeSetTimer(&state.timer, due, &state.dpc);
    sim.spawn("free", [&] {
        LARGE_INTEGER pause;
        pause.QuadPart = -10;
        KeDelayExecutionThread(KernelMode, FALSE, &pause);
        KeCancelTimer(&state.timer); // ignores FALSE, after which the DPC is queued or runs
        state.alive = false;
    });
    sim.run();
    if (state.used_after_free) return "a timer's DPC ran over freed memory";
    return std::nullopt;
}

std::optional<std::string> takes_two_locks_both_ways(sim_machine& sim) {
    lock first;
    lock second;
    sim.spawn("forth", [&] {
        const lock_scope a(first);
        const lock_scope b(second);
    });
    sim.spawn("back", [&] {
        const lock_scope b(second);
        const lock_scope a(first);
    });
    sim.run();
    return std::nullopt; // run() does not return from a deadlock
}

// One thread acquires the locks in both orders: nothing hangs, but the lock order is violated.
std::optional<std::string> takes_two_locks_both_ways_in_turn(sim_machine&) {
    lock first;
    lock second;
    {
        const lock_scope a(first);
        const lock_scope b(second);
    }
    const lock_scope b(second);
    const lock_scope a(first);
    return std::nullopt;
}

std::optional<std::string> waits_at_dispatch(sim_machine&) {
    KEVENT never;
    KeInitializeEvent(&never, NotificationEvent, FALSE);
    lock guarding;
    const lock_scope guard(guarding);
    LARGE_INTEGER later;
    later.QuadPart = -10;
    KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, &later);
    return std::nullopt;
}

std::optional<std::string> releases_twice(sim_machine&) {
    lock guarding;
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&guarding.word);
    KeReleaseSpinLock(&guarding.word, level);
    KeReleaseSpinLock(&guarding.word, level);
    return std::nullopt;
}

std::optional<std::string> frees_an_armed_timer(sim_machine&) {
    auto* timer =
        static_cast<KTIMER*>(ExAllocatePoolWithTag(NonPagedPool, sizeof(KTIMER), timer_tag));
    KeInitializeTimer(timer);
    LARGE_INTEGER due;
    due.QuadPart = -10'000'000;
    KeSetTimer(timer, due, nullptr);
    ExFreePoolWithTag(timer, timer_tag);
    return std::nullopt;
}

std::optional<std::string> returns_from_a_dispatch_above_its_level(sim_machine&) {
    int nothing = 0;
    fixture it(
        [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            KIRQL level = PASSIVE_LEVEL;
            KeRaiseIrql(DISPATCH_LEVEL, &level);
            complete(irp, STATUS_SUCCESS);
            return STATUS_SUCCESS;
        },
        &nothing);
    it.send(0);
    return it.verdict();
}

} // namespace

const std::vector<defect>& primitive_defects() {
    static const std::vector<defect> all = {
        {"inverted_compare_exchange", "Wine ntoskrnl.exe sync.c, before e6a6ae70",
         found_by::outcome, inverted_compare_exchange},
        {"reads_a_count_again", "planted by others, C01", found_by::outcome, reads_a_count_again},
        {"marks_after_queueing_a_dpc",
         "planted by others, P11",
         found_by::verifier,
         marks_after_queueing_a_dpc,
         {"MarkingInterlockedQueuedIrps"}},
        {"lowers_to_passive_inside",
         "Wine KeAcquireSpinLockRaiseToDpc, constant 0",
         found_by::verifier,
         lowers_to_passive_inside,
         {"LockReleaseOrder"}},
        {"clears_an_event_it_has_not_seen", "lost wake-up", found_by::outcome,
         clears_an_event_it_has_not_seen},
        {"relies_on_every_dpc_insertion", "WDK KeInsertQueueDpc", found_by::outcome,
         relies_on_every_dpc_insertion},
        {"frees_what_a_timer_uses", "WDK KeCancelTimer", found_by::outcome,
         frees_what_a_timer_uses},
        {"takes_two_locks_both_ways",
         "0xC4:0x1001",
         found_by::outcome,
         takes_two_locks_both_ways,
         {"LockOrder"}},
        {"takes_two_locks_both_ways_in_turn",
         "0xC4:0x1001",
         found_by::verifier,
         takes_two_locks_both_ways_in_turn,
         {"LockOrder"}},
        {"waits_at_dispatch",
         "0xB8",
         found_by::outcome,
         waits_at_dispatch,
         {"IrqlKeWaitForMutexObject"}},
        {"releases_twice", "0x10", found_by::outcome, releases_twice, {"IrqlKeReleaseSpinLock"}},
        {"frees_an_armed_timer",
         "0xC4:0x15",
         found_by::verifier,
         frees_an_armed_timer,
         {"TimerFreed"}},
        {"returns_from_a_dispatch_above_its_level",
         "IrqlReturn",
         found_by::verifier,
         returns_from_a_dispatch_above_its_level,
         {"IrqlReturn"}},
    };
    return all;
}

} // namespace canary
