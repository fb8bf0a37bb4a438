// The calls on interrupts.
#include "interrupt_controller.hpp"
#include "irql_rules.hpp"
#include "plug_and_play/plug_and_play.hpp"
#include "require.hpp"

#include <irp/testing/interrupt.h>

#include <dispatch/support/faults.hpp>
#include <dispatch/support/interrupt_lock.hpp>
#include <dispatch/support/live_objects.hpp>
#include <dispatch/support/verify.hpp>

#include <cstdlib>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

KSPIN_LOCK& lock_of(KINTERRUPT& interrupt) {
    return interrupt.lock != nullptr ? *interrupt.lock : interrupt.own_lock;
}

// Calls `routine` at SynchronizeIrql with the spin lock held.
template <class Routine>
BOOLEAN synchronized(KINTERRUPT& interrupt, Routine routine) {
    const KIRQL old = KeAcquireInterruptSpinLock(&interrupt); // which checks that it exists
    const KIRQL level = interrupt.synchronize_irql;
    const BOOLEAN result = routine();
    if (KeGetCurrentIrql() != level)
        bug_check(IRQL_UNEXPECTED_VALUE,
                  "a service routine returned at another IRQL than it was called at",
                  KeGetCurrentIrql(), level);
    KeReleaseInterruptSpinLock(&interrupt, old);
    return result;
}

void free_interrupt(KINTERRUPT* gone) {
    gone->~KINTERRUPT();
    free_to_special_pool(gone, sizeof *gone, "KINTERRUPT");
}

interrupt_controller::reference allocate(const KINTERRUPT& fields) {
    void* const place =
        fault_point("irp.connect_interrupt") ? nullptr : std::malloc(sizeof(KINTERRUPT));
    if (place == nullptr) throw std::bad_alloc();
    interrupt_controller::reference made(new (place) KINTERRUPT(fields), free_interrupt);
    KeInitializeSpinLock(&made->own_lock);
    ExInitializeRundownProtection(&made->calls);
    return made;
}

NTSTATUS connect(PKINTERRUPT& connected, const KINTERRUPT& fields, KIRQL irql) try {
    if (irql <= DISPATCH_LEVEL || fields.synchronize_irql < irql ||
        fields.synchronize_irql > HIGH_LEVEL)
        return STATUS_INVALID_PARAMETER;
    interrupt_controller::reference made = allocate(fields);
    KINTERRUPT* const interrupt = made.get();
    connected = interrupt; // the service routine may run before this call returns
    if (verifying())
        add_live_object(this_processor(), live_object_kind::interrupt, interrupt,
                        routine_address(fields.routine));
    if (interrupt_controller::current().connect(std::move(made))) return STATUS_SUCCESS;
    if (verifying()) remove_live_object(live_object_kind::interrupt, interrupt);
    connected = nullptr;
    return STATUS_INVALID_PARAMETER;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

// `wanted` is of the shape of IO_CONNECT_INTERRUPT_PARAMETERS.LineBased.
template <class Wanted>
NTSTATUS connect_line(PKINTERRUPT& connected, const Wanted& wanted, PKSERVICE_ROUTINE routine) {
    const std::optional<interrupt_line> line =
        plug_and_play::current()->line_of(wanted.PhysicalDeviceObject);
    if (!line) return STATUS_INVALID_DEVICE_REQUEST;
    const KIRQL level = wanted.SynchronizeIrql != 0 ? wanted.SynchronizeIrql : line->irql;
    return connect(connected,
                   {routine, wanted.ServiceContext, wanted.SpinLock, line->vector, level,
                    LevelSensitive, true},
                   line->irql);
}

BOOLEAN call(KINTERRUPT& interrupt) {
    if (!ExAcquireRundownProtection(&interrupt.calls)) return FALSE;
    const BOOLEAN claimed =
        synchronized(interrupt, [&] { return interrupt.routine(&interrupt, interrupt.context); });
    ExReleaseRundownProtection(&interrupt.calls);
    return claimed;
}

} // namespace

extern "C" {

NTSTATUS IoConnectInterrupt(PKINTERRUPT* InterruptObject, PKSERVICE_ROUTINE ServiceRoutine,
                            PVOID ServiceContext, PKSPIN_LOCK SpinLock, ULONG Vector, KIRQL Irql,
                            KIRQL SynchronizeIrql, KINTERRUPT_MODE Mode, BOOLEAN ShareVector,
                            KAFFINITY, BOOLEAN) {
    VERIFY_IRQL(IoConnectInterrupt);
    return connect(*InterruptObject,
                   {ServiceRoutine, ServiceContext, SpinLock, Vector, SynchronizeIrql, Mode,
                    ShareVector != FALSE},
                   Irql);
}

NTSTATUS IoConnectInterruptEx(PIO_CONNECT_INTERRUPT_PARAMETERS Parameters) {
    VERIFY_IRQL(IoConnectInterruptEx);
    switch (Parameters->Version) {
    case CONNECT_FULLY_SPECIFIED:
    case CONNECT_FULLY_SPECIFIED_GROUP: {
        const auto& wanted = Parameters->FullySpecified;
        return IoConnectInterrupt(
            wanted.InterruptObject, wanted.ServiceRoutine, wanted.ServiceContext, wanted.SpinLock,
            wanted.Vector, wanted.Irql, wanted.SynchronizeIrql, wanted.InterruptMode,
            wanted.ShareVector, wanted.ProcessorEnableMask, wanted.FloatingSave);
    }
    case CONNECT_LINE_BASED: {
        const auto& wanted = Parameters->LineBased;
        return connect_line(*wanted.InterruptObject, wanted, wanted.ServiceRoutine);
    }
    case CONNECT_MESSAGE_BASED: {
        const auto& wanted = Parameters->MessageBased;
        if (wanted.FallBackServiceRoutine == nullptr) return STATUS_NOT_FOUND;
        Parameters->Version = CONNECT_LINE_BASED;
        return connect_line(*wanted.ConnectionContext.InterruptObject, wanted,
                            wanted.FallBackServiceRoutine);
    }
    default:
        Parameters->Version = CONNECT_FULLY_SPECIFIED_GROUP;
        return STATUS_NOT_SUPPORTED;
    }
}

void IoDisconnectInterrupt(PKINTERRUPT InterruptObject) {
    VERIFY_IRQL(IoDisconnectInterrupt);
    require(InterruptObject, "IoDisconnectInterrupt: the interrupt is NULL");
    if (verifying()) {
        check_freed_use(InterruptObject, "an interrupt is disconnected");
        remove_live_object(live_object_kind::interrupt, InterruptObject);
    }
    const auto removed = interrupt_controller::current().disconnect(InterruptObject);
    if (removed != nullptr) ExWaitForRundownProtectionRelease(&removed->calls);
}

void IoDisconnectInterruptEx(PIO_DISCONNECT_INTERRUPT_PARAMETERS Parameters) {
    IoDisconnectInterrupt(Parameters->ConnectionContext.InterruptObject);
}

BOOLEAN KeSynchronizeExecution(PKINTERRUPT Interrupt, PKSYNCHRONIZE_ROUTINE SynchronizeRoutine,
                               PVOID SynchronizeContext) {
    require(Interrupt, "KeSynchronizeExecution: the interrupt is NULL");
    return synchronized(*Interrupt, [&] { return SynchronizeRoutine(SynchronizeContext); });
}

KIRQL KeAcquireInterruptSpinLock(PKINTERRUPT Interrupt) {
    require(Interrupt, "KeAcquireInterruptSpinLock: the interrupt is NULL");
    if (verifying()) check_freed_use(Interrupt, "the lock of an interrupt is acquired");
    KIRQL old = PASSIVE_LEVEL;
    KeRaiseIrql(Interrupt->synchronize_irql, &old);
    acquire_interrupt_lock(lock_of(*Interrupt));
    return old;
}

void KeReleaseInterruptSpinLock(PKINTERRUPT Interrupt, KIRQL OldIrql) {
    if (verifying()) check_freed_use(Interrupt, "the lock of an interrupt is released");
    release_interrupt_lock(lock_of(*Interrupt));
    KeLowerIrql(OldIrql);
}

BOOLEAN IrpRaiseInterrupt(ULONG Vector) {
    VERIFY_IRQL(IrpRaiseInterrupt);
    BOOLEAN claimed = FALSE;
    const auto connected = interrupt_controller::current().connected_to(Vector);
    // The DPCs of the routines run after all of them, when a disconnect no longer waits.
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    for (const auto& each : connected) {
        if (!call(*each)) continue;
        claimed = TRUE;
        if (each->mode == LevelSensitive) break;
    }
    KeLowerIrql(old);
    return claimed;
}

} // extern "C"
