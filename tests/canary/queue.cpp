// Defects of drivers' own request queues, and of the code around them.
#include "canary.hpp"

namespace canary {
namespace {

using irpverbs::dispatch::sim_machine;

struct queue_driver {
    lock guard;
    LIST_ENTRY list;
    bool closing = false;
    bool context_alive = true; // the object that the requests refer to
    bool touched_dead_context = false;
    int references = 1;
    KDPC drain{};

    queue_driver() { InitializeListHead(&list); }
};

queue_driver& driver_of(IRP* irp) {
    return *static_cast<queue_driver*>(irp->Tail.Overlay.DriverContext[0]);
}

void link(queue_driver& driver, IRP* irp) {
    irp->Tail.Overlay.DriverContext[0] = &driver;
    InsertTailList(&driver.list, &irp->Tail.Overlay.ListEntry);
}

void unlink(IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }

IRP* request_at(LIST_ENTRY* entry) { return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry); }

void cancel_queued(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    {
        const lock_scope guard(driver_of(irp).guard);
        unlink(irp);
    }
    complete(irp, STATUS_CANCELLED);
}

// Links the IRP, sets its cancel routine and checks Cancel again, under the caller's lock; false if
// the caller has to remove the IRP and complete it.
bool arm(queue_driver& driver, IRP* irp) {
    IoMarkIrpPending(irp);
    link(driver, irp);
    IoSetCancelRoutine(irp, cancel_queued);
    if (!cancel_requested(irp) || IoSetCancelRoutine(irp, nullptr) == nullptr) return true;
    unlink(irp);
    return false;
}

NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
    auto& driver = state_of<queue_driver>(device);
    bool pended = false;
    {
        const lock_scope guard(driver.guard);
        pended = arm(driver, irp);
    }
    if (!pended) complete(irp, STATUS_CANCELLED);
    return STATUS_PENDING;
}

// Removes the oldest request that is not being cancelled.
IRP* pop(queue_driver& driver) {
    const lock_scope guard(driver.guard);
    for (LIST_ENTRY* each = driver.list.Flink; each != &driver.list; each = each->Flink) {
        if (IoSetCancelRoutine(request_at(each), nullptr) == nullptr) continue;
        unlink(request_at(each));
        return request_at(each);
    }
    return nullptr;
}

void serve(queue_driver& driver) {
    while (IRP* irp = pop(driver))
        complete(irp, STATUS_SUCCESS);
}

std::optional<std::string> race(sim_machine& sim, PDRIVER_DISPATCH dispatch,
                                void (*consume)(queue_driver&)) {
    queue_driver driver;
    fixture it(dispatch, &driver);
    sim.spawn("pend", [&] { it.send(0); });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.spawn("serve", [&] { consume(driver); });
    sim.run();
    if (!cancel_requested(it.irp(0))) serve(driver);
    return it.verdict();
}

std::optional<std::string> pop_ignores_the_owner(sim_machine& sim) {
    return race(sim, pend, [](queue_driver& driver) {
        IRP* irp = nullptr;
        {
            const lock_scope guard(driver.guard);
            if (IsListEmpty(&driver.list)) return;
            irp = request_at(driver.list.Flink);
            IoSetCancelRoutine(irp, nullptr);
            unlink(irp);
            InitializeListHead(&irp->Tail.Overlay.ListEntry);
        }
        complete(irp, STATUS_SUCCESS);
    });
}

std::optional<std::string> no_second_look_after_arming(sim_machine& sim) {
    return race(
        sim,
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& driver = state_of<queue_driver>(device);
            if (cancel_requested(irp)) {
                complete(irp, STATUS_CANCELLED);
                return STATUS_CANCELLED;
            }
            const lock_scope guard(driver.guard);
            IoMarkIrpPending(irp);
            link(driver, irp);
            IoSetCancelRoutine(irp, cancel_queued);
            return STATUS_PENDING;
        },
        serve);
}

std::optional<std::string> marks_after_it_is_out(sim_machine& sim) {
    return race(
        sim,
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& driver = state_of<queue_driver>(device);
            bool pended = true;
            {
                const lock_scope guard(driver.guard);
                link(driver, irp);
                IoSetCancelRoutine(irp, cancel_queued);
                if (cancel_requested(irp) && IoSetCancelRoutine(irp, nullptr) != nullptr) {
                    unlink(irp);
                    pended = false;
                }
            }
            IoMarkIrpPending(irp);
            if (!pended) complete(irp, STATUS_CANCELLED);
            return STATUS_PENDING;
        },
        serve);
}

std::optional<std::string> completes_the_cancelled_under_its_lock(sim_machine& sim) {
    return race(
        sim,
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& driver = state_of<queue_driver>(device);
            const lock_scope guard(driver.guard);
            if (!arm(driver, irp)) complete(irp, STATUS_CANCELLED);
            return STATUS_PENDING;
        },
        serve);
}

// A request that is being cancelled is still in the list when the next one arrives. The list is not
// empty then, so the drain DPC is not queued.
std::optional<std::string> drains_only_what_was_empty(sim_machine& sim) {
    queue_driver driver;
    KeInitializeDpc(
        &driver.drain,
        [](KDPC*, void* context, void*, void*) { serve(*static_cast<queue_driver*>(context)); },
        &driver);
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& its = state_of<queue_driver>(device);
            bool pended = false;
            bool was_empty = false;
            {
                const lock_scope guard(its.guard);
                was_empty = IsListEmpty(&its.list);
                pended = arm(its, irp);
            }
            if (!pended) complete(irp, STATUS_CANCELLED);
            if (was_empty) KeInsertQueueDpc(&its.drain, nullptr, nullptr);
            return STATUS_PENDING;
        },
        &driver);
    sim.spawn("first", [&] { it.send(0); });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.spawn("second", [&] { it.send(1); });
    sim.run();
    return it.verdict();
}

// Two readers read the head before either removes it.
std::optional<std::string> peeks_and_pops_apart(sim_machine& sim) {
    queue_driver driver;
    fixture it(pend, &driver);
    it.send(0);
    it.send(1);
    const auto read = [&] {
        IRP* irp = nullptr;
        {
            const lock_scope guard(driver.guard);
            if (IsListEmpty(&driver.list)) return;
            irp = request_at(driver.list.Flink);
        }
        IoSetCancelRoutine(irp, nullptr);
        {
            const lock_scope guard(driver.guard);
            unlink(irp);
        }
        complete(irp, STATUS_SUCCESS);
    };
    sim.spawn("reader", read);
    sim.spawn("reader", read);
    sim.run();
    serve(driver);
    return it.verdict();
}

// The reader that finds the request being cancelled reinitializes its links, though it is still in
// the list.
std::optional<std::string> resets_links_that_are_in_use(sim_machine& sim) {
    return race(sim, pend, [](queue_driver& driver) {
        for (bool more = true; more;) {
            IRP* irp = nullptr;
            {
                const lock_scope guard(driver.guard);
                more = !IsListEmpty(&driver.list);
                if (!more) return;
                irp = request_at(driver.list.Flink);
                if (IoSetCancelRoutine(irp, nullptr) == nullptr) {
                    InitializeListHead(&irp->Tail.Overlay.ListEntry);
                    continue;
                }
                unlink(irp);
            }
            complete(irp, STATUS_SUCCESS);
        }
    });
}

// The polling thread has removed a request from the queue; clean-up finds the queue empty and frees
// the object that the request refers to.
std::optional<std::string> cleanup_misses_the_one_in_hand(sim_machine& sim) {
    queue_driver driver;
    fixture it(pend, &driver);
    it.send(0);
    sim.spawn("poll", [&] {
        IRP* irp = pop(driver);
        if (irp == nullptr) return;
        sim.yield();
        driver.touched_dead_context = !driver.context_alive;
        complete(irp, STATUS_SUCCESS);
    });
    sim.spawn("clean up", [&] {
        while (IRP* irp = pop(driver))
            complete(irp, STATUS_SUCCESS);
        driver.context_alive = false;
    });
    sim.run();
    if (driver.touched_dead_context) return "a request was served after its context was freed";
    return it.verdict();
}

std::optional<std::string> parks_after_the_close(sim_machine& sim) {
    queue_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            auto& its = state_of<queue_driver>(device);
            bool closing = false;
            {
                const lock_scope guard(its.guard);
                closing = its.closing;
            }
            if (!closing) return pend(device, irp);
            complete(irp, STATUS_FILE_FORCED_CLOSED);
            return STATUS_FILE_FORCED_CLOSED;
        },
        &driver);
    sim.spawn("pend", [&] { it.send(0); });
    sim.spawn("close", [&] {
        {
            const lock_scope guard(driver.guard);
            driver.closing = true;
        }
        serve(driver);
    });
    sim.run();
    return it.verdict();
}

// The driver takes the reference for a pended request after another thread can complete it.
std::optional<std::string> refers_after_it_is_out(sim_machine& sim) {
    queue_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
            pend(device, irp);
            InterlockedIncrement(&state_of<queue_driver>(device).references);
            return STATUS_PENDING;
        },
        &driver);
    bool freed_early = false;
    sim.spawn("fetch", [&] { it.send(0); });
    sim.spawn("complete", [&] {
        if (IRP* irp = pop(driver)) {
            sim.yield();
            freed_early = InterlockedDecrement(&driver.references) == 0;
            complete(irp, STATUS_SUCCESS);
        }
    });
    sim.run();
    serve(driver);
    if (freed_early) return "the context was freed with its owner still there";
    return it.verdict();
}

} // namespace

const std::vector<defect>& queue_defects() {
    static const std::vector<defect> all = {
        {"pop_ignores_the_owner",
         "msquic#938, the cancel-safe queue protocol: remove next",
         found_by::outcome,
         pop_ignores_the_owner,
         {"CancelRoutineOwnsIrp", "DoubleCompletion"}},
        {"no_second_look_after_arming",
         "the cancel-safe queue protocol: insert",
         found_by::outcome,
         no_second_look_after_arming,
         {"IrpCancelField"}},
        {"marks_after_it_is_out",
         "openzfsonwindows/ZFSin#199",
         found_by::verifier,
         marks_after_it_is_out,
         {"MarkingInterlockedQueuedIrps"}},
        {"completes_the_cancelled_under_its_lock",
         "ReactOS csq.c, WinOF al_proxy.c cb_lock",
         found_by::verifier,
         completes_the_cancelled_under_its_lock,
         {"SpinLockSafe"}},
        {"drains_only_what_was_empty",
         "a prototype of this library",
         found_by::outcome,
         drains_only_what_was_empty,
         {"FreedInUse"}},
        {"peeks_and_pops_apart",
         "nmap/npcap#553, Oxalin/usbip_windows#7",
         found_by::outcome,
         peeks_and_pops_apart,
         {"DoubleCompletion", ""}}, // "": the check of list links, in checked code
        {"resets_links_that_are_in_use", "dokan-dev/dokany#1188", found_by::outcome,
         resets_links_that_are_in_use},
        {"cleanup_misses_the_one_in_hand", "microsoft/Windows-driver-samples#489",
         found_by::outcome, cleanup_misses_the_one_in_hand},
        {"parks_after_the_close",
         "openvswitch/ovs-issues#95, #47",
         found_by::outcome,
         parks_after_the_close,
         {"FreedInUse"}},
        {"refers_after_it_is_out", "WinOF al_proxy.c callback fetch", found_by::outcome,
         refers_after_it_is_out},
    };
    return all;
}

} // namespace canary
