// Defects of drivers that pend one request in a slot and exchange it by hand, as the InfiniBand
// access layers of 2005 did.
#include "canary.hpp"

#include <utility>

namespace canary {
namespace {

using irpverbs::dispatch::sim_machine;

// A slot for one pending request, and an event that completes it.
struct slot_driver {
    lock guard;
    IRP* pended = nullptr;
    bool event_came = false;
};

void publish(slot_driver& driver, IRP* irp) {
    IoMarkIrpPending(irp);
    irp->Tail.Overlay.DriverContext[0] = &driver;
    const lock_scope guard(driver.guard);
    driver.pended = irp;
}

slot_driver& driver_of(IRP* irp) {
    return *static_cast<slot_driver*>(irp->Tail.Overlay.DriverContext[0]);
}

IRP* take(slot_driver& driver) {
    const lock_scope guard(driver.guard);
    return std::exchange(driver.pended, nullptr);
}

// Empties the slot if it has that request.
bool take_if(slot_driver& driver, IRP* irp) {
    const lock_scope guard(driver.guard);
    if (driver.pended != irp) return false;
    driver.pended = nullptr;
    return true;
}

void cancel_pending(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if (take_if(driver_of(irp), irp)) complete(irp, STATUS_CANCELLED);
}

// The event completes the pending request unless it is being cancelled.
void event(slot_driver& driver) {
    IRP* irp = nullptr;
    {
        const lock_scope guard(driver.guard);
        if (driver.pended != nullptr && IoSetCancelRoutine(driver.pended, nullptr) != nullptr)
            irp = std::exchange(driver.pended, nullptr);
    }
    if (irp != nullptr) complete(irp, STATUS_SUCCESS);
}

// Pend and cancel race. Nothing happens afterwards, so a request that still pends is lost.
std::optional<std::string> pend_and_cancel(sim_machine& sim, PDRIVER_DISPATCH dispatch) {
    slot_driver driver;
    fixture it(dispatch, &driver);
    sim.spawn("pend", [&] { it.send(0); });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.run();
    if (!cancel_requested(it.irp(0))) event(driver);
    return it.verdict();
}

std::optional<std::string> never_looks_at_cancel(sim_machine& sim) {
    return pend_and_cancel(sim, [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
        publish(state_of<slot_driver>(device), irp);
        IoSetCancelRoutine(irp, cancel_pending);
        return STATUS_PENDING;
    });
}

std::optional<std::string> arms_before_it_publishes(sim_machine& sim) {
    return pend_and_cancel(sim, [](DEVICE_OBJECT* device, IRP* irp) -> NTSTATUS {
        irp->Tail.Overlay.DriverContext[0] = &state_of<slot_driver>(device);
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, cancel_pending);
        publish(state_of<slot_driver>(device), irp);
        return STATUS_PENDING;
    });
}

// The routine completes while it holds the cancel lock and the driver's own, then reads CancelIrql
// from the completed request.
void cancel_under_locks(DEVICE_OBJECT*, IRP* irp) {
    slot_driver& driver = driver_of(irp);
    KeAcquireSpinLockAtDpcLevel(&driver.guard.word);
    if (std::exchange(driver.pended, nullptr) == irp) complete(irp, STATUS_CANCELLED);
    KeReleaseSpinLockFromDpcLevel(&driver.guard.word);
    IoReleaseCancelSpinLock(irp->CancelIrql);
}

NTSTATUS pend_armed(DEVICE_OBJECT* device, IRP* irp, PDRIVER_CANCEL routine) {
    publish(state_of<slot_driver>(device), irp);
    IoSetCancelRoutine(irp, routine);
    if (cancel_requested(irp) && IoSetCancelRoutine(irp, nullptr) != nullptr)
        if (take_if(state_of<slot_driver>(device), irp)) complete(irp, STATUS_CANCELLED);
    return STATUS_PENDING;
}

std::optional<std::string> cancels_under_two_locks(sim_machine& sim) {
    return pend_and_cancel(sim, [](DEVICE_OBJECT* device, IRP* irp) {
        return pend_armed(device, irp, cancel_under_locks);
    });
}

// The event ignores the result of IoSetCancelRoutine. While the cancel routine runs, the next
// request gets the slot, and is cancelled in the first one's place.
void cancel_whatever_is_there(DEVICE_OBJECT*, IRP* irp) {
    slot_driver& driver = driver_of(irp);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if (IRP* found = take(driver)) complete(found, STATUS_CANCELLED);
}

std::optional<std::string> cancels_the_wrong_request(sim_machine& sim) {
    slot_driver driver;
    fixture it([](DEVICE_OBJECT* device,
                  IRP* irp) { return pend_armed(device, irp, cancel_whatever_is_there); },
               &driver);
    sim.spawn("serve", [&] {
        it.send(0);
        if (IRP* irp = take(driver)) {
            IoSetCancelRoutine(irp,
                               nullptr); // ignores NULL, which means that it is being cancelled
            complete(irp, STATUS_SUCCESS);
        }
        it.send(1);
    });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.run();
    event(driver);
    return it.verdict();
}

std::optional<std::string> completes_without_checking_the_owner(sim_machine& sim) {
    slot_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) { return pend_armed(device, irp, cancel_pending); },
        &driver);
    sim.spawn("pend", [&] { it.send(0); });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.spawn("complete", [&] {
        IRP* irp = nullptr;
        {
            const lock_scope guard(driver.guard);
            irp = driver.pended;
        }
        if (irp == nullptr) return;
        IoSetCancelRoutine(irp, nullptr);
        complete(irp, STATUS_SUCCESS);
        take_if(driver, irp);
    });
    sim.run();
    event(driver);
    return it.verdict();
}

// The routine empties the slot, and drops a request that is not its own.
void cancel_and_drop(DEVICE_OBJECT*, IRP* irp) {
    slot_driver& driver = driver_of(irp);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if (take(driver) == irp) complete(irp, STATUS_CANCELLED);
}

std::optional<std::string> drops_another_request(sim_machine& sim) {
    slot_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) { return pend_armed(device, irp, cancel_and_drop); },
        &driver);
    sim.spawn("re-arm", [&] {
        it.send(0);
        event(driver);
        it.send(1); // overwrites the one whose cancel routine is about to run
    });
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.run();
    event(driver);
    return it.verdict();
}

std::optional<std::string> cleans_up_without_asking_who_owns(sim_machine& sim) {
    slot_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) {
            publish(state_of<slot_driver>(device), irp);
            IoSetCancelRoutine(irp, [](DEVICE_OBJECT*, IRP* mine) {
                slot_driver& its = driver_of(mine);
                IoReleaseCancelSpinLock(mine->CancelIrql);
                complete(mine, STATUS_CANCELLED);
                take_if(its, mine);
            });
            return STATUS_PENDING;
        },
        &driver);
    it.send(0);
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.spawn("clean up", [&] {
        IRP* irp = take(driver);
        if (irp == nullptr) return;
        IoSetCancelRoutine(irp, nullptr);
        complete(irp, STATUS_FILE_FORCED_CLOSED);
    });
    sim.run();
    return it.verdict();
}

// The routine acquires the driver's lock while it holds the cancel lock; the dispatch routine
// acquires them in the other order.
std::optional<std::string> inverts_the_cancel_lock(sim_machine& sim) {
    slot_driver driver;
    fixture it(
        [](DEVICE_OBJECT* device, IRP* irp) {
            auto& its = state_of<slot_driver>(device);
            IoMarkIrpPending(irp);
            irp->Tail.Overlay.DriverContext[0] = &its;
            const lock_scope guard(its.guard);
            KIRQL level = PASSIVE_LEVEL;
            IoAcquireCancelSpinLock(&level);
            its.pended = irp;
            IoSetCancelRoutine(irp, [](DEVICE_OBJECT*, IRP* mine) {
                slot_driver& owner = driver_of(mine);
                const bool taken = take_if(owner, mine);
                IoReleaseCancelSpinLock(mine->CancelIrql);
                if (taken) complete(mine, STATUS_CANCELLED);
            });
            IoReleaseCancelSpinLock(level);
            return STATUS_PENDING;
        },
        &driver);
    it.send(0);
    sim.spawn("cancel", [&] { it.cancel(0); });
    sim.spawn("pend", [&] { it.send(1); });
    sim.run();
    return std::nullopt; // run() does not return from a deadlock
}

} // namespace

const std::vector<defect>& single_slot_defects() {
    static const std::vector<defect> all = {
        {"never_looks_at_cancel",
         "WinOF al_cm_cep.c al_cep_queue_irp",
         found_by::outcome,
         never_looks_at_cancel,
         {"IrpCancelField"}},
        {"arms_before_it_publishes",
         "WinOF al_proxy.c proxy_rearm_pnp",
         found_by::outcome,
         arms_before_it_publishes,
         {"IrpCancelField"}},
        {"cancels_under_two_locks",
         "WinOF al_cm_cep.c __cep_cancel_irp",
         found_by::verifier,
         cancels_under_two_locks,
         {"SpinLockSafe"}},
        {"cancels_the_wrong_request",
         "WinOF al_cm_cep.c __cep_complete_irp",
         found_by::outcome,
         cancels_the_wrong_request,
         {"WrongIrpCancelled", "CancelRoutineOwnsIrp", "DoubleCompletion"}},
        {"completes_without_checking_the_owner",
         "WinOF al_proxy.c __proxy_pnp_cb",
         found_by::outcome,
         completes_without_checking_the_owner,
         {"DoubleCompletion", "CancelRoutineOwnsIrp"}},
        {"drops_another_request",
         "WinOF al_proxy.c __cancel_rearm_pnp",
         found_by::outcome,
         drops_another_request,
         {"FreedInUse"}},
        {"cleans_up_without_asking_who_owns",
         "WinOF al_pnp.c __pnp_reg_cleanup",
         found_by::outcome,
         cleans_up_without_asking_who_owns,
         {"CancelRoutineOwnsIrp", "DoubleCompletion"}},
        {"inverts_the_cancel_lock",
         "the cancel-safe queue protocol, cancel step",
         found_by::outcome,
         inverts_the_cancel_lock,
         {"LockOrder"}},
    };
    return all;
}

} // namespace canary
