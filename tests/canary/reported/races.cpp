// Races without a call between their steps, of timers against running code, and of three actors.
#define IRPVERBS_CHECKED_INLINES 1
#include "reported.hpp"

#include <irp/wdm.h>

#include <utility>

namespace reported {
namespace {

using irpverbs::dispatch::sim_machine;

constexpr ULONG race_tag = 0x65636152; // "Race"

LONG* counted_block(LONG references) {
    auto* count =
        static_cast<LONG*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * sizeof(LONG), race_tag));
    *count = references;
    return count;
}

// The count is read again after its decrement.
outcome count_read_again(sim_machine& sim) {
    LONG* count = counted_block(2);
    KSPIN_LOCK list;
    KeInitializeSpinLock(&list);
    const auto release = [&] {
        InterlockedDecrement(count);
        if (*count != 0) return;
        KeReleaseSpinLock(&list, KeAcquireSpinLockRaiseToDpc(&list)); // unlinks it
        ExFreePool(count);
    };
    sim.spawn("one", release);
    sim.spawn("other", release);
    sim.run();
    return std::nullopt;
}

// A reference is added after the look at the count, which the last release may overtake.
outcome reference_to_a_dying_object(sim_machine& sim) {
    LONG* count = counted_block(1);
    bool listed = true;
    sim.spawn("find", [&] {
        if (!listed) return;
        InterlockedIncrement(count);
        if (InterlockedDecrement(count) == 0) ExFreePool(count);
    });
    for (const char* name : {"release", "look"})
        sim.spawn(name, [&, name] {
            if (name[0] == 'l') return sim.yield();
            if (InterlockedDecrement(count) != 0) return;
            listed = false;
            ExFreePool(count);
        });
    sim.run();
    return std::nullopt;
}

struct pending {
    IRP* irp = nullptr;
    bool ready = false;
    int completions = 0;
    KDPC dpc{};
    KTIMER timer{};
    KSPIN_LOCK lock{};
};
pending* device_of_run = nullptr;

void complete(IRP* irp) {
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

NTSTATUS keep(DEVICE_OBJECT*, IRP*, void* context) {
    ++static_cast<pending*>(context)->completions;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/// Sends one IRP to a device with that dispatch routine; `serve`, if not null, runs at the same
/// time and once more at the end.
outcome send_one(sim_machine& sim, PDRIVER_DISPATCH dispatch, void (*serve)() = nullptr) {
    DRIVER_OBJECT driver{};
    driver.MajorFunction[IRP_MJ_READ] = dispatch;
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    pending state;
    device_of_run = &state;
    IoSetCompletionRoutine(irp, keep, &state, TRUE, TRUE, TRUE);
    sim.spawn("send", [&] { IoCallDriver(device, irp); });
    if (serve != nullptr) sim.spawn("serve", serve);
    sim.run();
    if (serve != nullptr) serve();
    if (state.completions != 1) return "the request was not completed once";
    IoFreeIrp(irp);
    IoDeleteDevice(device);
    return std::nullopt;
}

// The DPC on the other processor may complete the IRP before it is marked.
outcome mark_after_the_dpc(sim_machine& sim) {
    return send_one(sim, [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        pending& state = *device_of_run;
        KeInitializeDpc(
            &state.dpc, [](KDPC*, void*, void* held, void*) { complete(static_cast<IRP*>(held)); },
            nullptr);
        KeSetTargetProcessorDpc(&state.dpc, 1);
        KeInsertQueueDpc(&state.dpc, irp, nullptr);
        IoMarkIrpPending(irp);
        return STATUS_PENDING;
    });
}

// The slot is no lock: who finds the IRP there may complete it before it is marked.
outcome mark_after_the_store(sim_machine& sim) {
    return send_one(
        sim,
        [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            device_of_run->irp = irp;
            IoMarkIrpPending(irp);
            return STATUS_PENDING;
        },
        [] {
            if (IRP* waiting = std::exchange(device_of_run->irp, nullptr)) complete(waiting);
        });
}

// Data that becomes ready after the look at the flag finds no request, which then waits for ever.
outcome ready_during_the_mark(sim_machine& sim) {
    return send_one(
        sim,
        [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            if (device_of_run->ready) {
                complete(irp);
                return STATUS_SUCCESS;
            }
            IoMarkIrpPending(irp);
            device_of_run->irp = irp;
            return STATUS_PENDING;
        },
        [] {
            if (std::exchange(device_of_run->ready, true)) return;
            if (IRP* waiting = std::exchange(device_of_run->irp, nullptr)) complete(waiting);
        });
}

// The doorbell, here a timer, is rung before the request is written down.
outcome doorbell_before_the_request(sim_machine& sim) {
    return send_one(sim, [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        pending& state = *device_of_run;
        KeInitializeTimer(&state.timer);
        KeInitializeDpc(
            &state.dpc,
            [](KDPC*, void* held, void*, void*) { complete(static_cast<pending*>(held)->irp); },
            &state);
        LARGE_INTEGER due;
        due.QuadPart = -10;
        IoMarkIrpPending(irp);
        KeSetTimer(&state.timer, due, &state.dpc);
        const KIRQL level = KeAcquireSpinLockRaiseToDpc(&state.lock);
        state.irp = irp;
        KeReleaseSpinLock(&state.lock, level);
        return STATUS_PENDING;
    });
}

// The filter skips its location and sets a completion routine: it overwrites the originator's.
outcome skips_and_sets_a_routine(sim_machine& sim) {
    return send_one(sim, [](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
        IoSkipCurrentIrpStackLocation(irp);
        IoSetCompletionRoutine(
            irp, [](DEVICE_OBJECT*, IRP*, void*) -> NTSTATUS { return STATUS_CONTINUE_COMPLETION; },
            nullptr, TRUE, TRUE, TRUE);
        IoSetNextIrpStackLocation(irp);
        complete(irp);
        return STATUS_SUCCESS;
    });
}

// One handle for two processors.
outcome queue_handle_in_use(sim_machine& sim) {
    KSPIN_LOCK lock;
    KLOCK_QUEUE_HANDLE handle;
    KeInitializeSpinLock(&lock);
    LONG value = 0;
    for (const char* name : {"one", "other"})
        sim.spawn(name, [&] {
            KeAcquireInStackQueuedSpinLock(&lock, &handle);
            ++value;
            KeReleaseInStackQueuedSpinLock(&handle);
        });
    sim.run();
    return std::nullopt;
}

// The length is read twice, and user mode changes it in between.
outcome double_fetch(sim_machine& sim) {
    volatile LONG length = 8;
    char* block = static_cast<char*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, race_tag));
    sim.spawn("driver", [&] {
        if (length > 8) return;
        sim.yield();
        for (LONG i = 0; i < length; ++i)
            block[i] = 1;
    });
    sim.spawn("user mode", [&] { length = 16; });
    sim.run();
    ExFreePool(block);
    return std::nullopt;
}

// A wait after the look at the flag, which the setter overtakes.
outcome lost_wake_up(sim_machine& sim) {
    KEVENT ready;
    KeInitializeEvent(&ready, SynchronizationEvent, FALSE);
    volatile bool set = false;
    volatile LONG waiters = 0;
    sim.spawn("wait", [&] {
        if (set) return;
        sim.yield();
        waiters = waiters + 1;
        KeWaitForSingleObject(&ready, Executive, KernelMode, FALSE, nullptr);
    });
    sim.spawn("set", [&] {
        set = true;
        if (waiters != 0) KeSetEvent(&ready, IO_NO_INCREMENT, FALSE);
    });
    sim.run();
    return std::nullopt;
}

// A list without a lock: the top may come back between the look and the exchange (ABA).
outcome aba(sim_machine& sim) {
    struct node {
        node* next;
        bool out;
    };
    node nodes[2]{{&nodes[1], false}, {nullptr, false}};
    PVOID top = &nodes[0];
    bool twice = false;
    const auto pop = [&]() -> node* {
        for (;;) {
            auto* first = static_cast<node*>(top);
            if (first == nullptr) return nullptr;
            node* next = first->next;
            if (InterlockedCompareExchangePointer(&top, next, first) == first) {
                twice = twice || first->out;
                first->out = true;
                return first;
            }
        }
    };
    const auto push = [&](node* each) {
        each->out = false;
        PVOID seen = top;
        do {
            seen = top;
            each->next = static_cast<node*>(seen);
        } while (InterlockedCompareExchangePointer(&top, each, seen) != seen);
    };
    sim.spawn("pop", pop);
    sim.spawn("pop and push", [&] {
        node* first = pop();
        pop();
        if (first != nullptr) push(first);
    });
    sim.run();
    pop();
    pop();
    if (twice) return "a node was removed twice";
    return std::nullopt;
}

} // namespace

const std::vector<defect>& race_defects() {
    static const std::vector<defect> all{
        {"count_read_again", count_read_again, true, ""},
        {"reference_to_a_dying_object", reference_to_a_dying_object, true, ""},
        {"mark_after_the_dpc", mark_after_the_dpc, true, ""},
        {"mark_after_the_store", mark_after_the_store, true, ""},
        {"ready_during_the_mark", ready_during_the_mark, true, "not completed once"},
        {"doorbell_before_the_request", doorbell_before_the_request, true, ""},
        {"skips_and_sets_a_routine", skips_and_sets_a_routine, true, ""},
        {"queue_handle_in_use", queue_handle_in_use, true, "QueueHandleInUse"},
        {"double_fetch", double_fetch, true, "PoolOverrun"},
        {"lost_wake_up", lost_wake_up, true, "hung"},
        {"aba", aba, true, "removed twice"},
    };
    return all;
}

} // namespace reported
