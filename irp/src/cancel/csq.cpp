#include "irql_rules.hpp"
#include "verify/hooks.hpp"

#include <irp/csq.h>
#include <irp/device.h>

#include <dispatch/support/processor.hpp>
#include <dispatch/testing/probe.hpp>

using namespace irpverbs::dispatch::detail;

// DriverContext[3] of a queued IRP holds its key, or the queue for an IRP without a key; both begin
// with a type.
namespace {

constexpr ULONG plain_queue = 1;
constexpr ULONG queue_with_results = 2;
constexpr ULONG key_type = 3;

IO_CSQ* queue_of(IRP* irp) {
    void* held = irp->Tail.Overlay.DriverContext[3];
    if (*static_cast<const ULONG*>(held) != key_type) return static_cast<IO_CSQ*>(held);
    auto* key = static_cast<IO_CSQ_IRP_CONTEXT*>(held);
    key->Irp = nullptr;
    return key->Csq;
}

void clear_key(IRP* irp) {
    queue_of(irp);
    irp->Tail.Overlay.DriverContext[3] = nullptr;
}

// Called with the cancel spin lock held, by the canceller that took the cancel routine.
void cancel_queued(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    void* held = irp->Tail.Overlay.DriverContext[3];
    IO_CSQ* csq = *static_cast<const ULONG*>(held) == key_type
                      ? static_cast<IO_CSQ_IRP_CONTEXT*>(held)->Csq
                      : static_cast<IO_CSQ*>(held);
    KIRQL level = PASSIVE_LEVEL;
    csq->CsqAcquireLock(csq, &level);
    csq->CsqRemoveIrp(csq, irp);
    clear_key(irp);
    csq->CsqReleaseLock(csq, level);
    csq->CsqCompleteCanceledIrp(csq, irp);
}

void initialize(IO_CSQ& csq, ULONG type, PIO_CSQ_REMOVE_IRP remove, PIO_CSQ_PEEK_NEXT_IRP peek,
                PIO_CSQ_ACQUIRE_LOCK acquire, PIO_CSQ_RELEASE_LOCK release,
                PIO_CSQ_COMPLETE_CANCELED_IRP complete) {
    csq = {};
    csq.Type = type;
    csq.CsqRemoveIrp = remove;
    csq.CsqPeekNextIrp = peek;
    csq.CsqAcquireLock = acquire;
    csq.CsqReleaseLock = release;
    csq.CsqCompleteCanceledIrp = complete;
}

NTSTATUS insert_irp(IO_CSQ* csq, IRP* irp, void* insert_context) {
    if (csq->Type == plain_queue) {
        csq->CsqInsertIrp(csq, irp);
        return STATUS_SUCCESS;
    }
    return reinterpret_cast<PIO_CSQ_INSERT_IRP_EX>(reinterpret_cast<void*>(csq->CsqInsertIrp))(
        csq, irp, insert_context);
}

// The cancel routine is set after the IRP is in the list, and Irp->Cancel is tested once more: an
// IoCancelIrp in between found no routine to call.
bool set_cancel_or_remove(IO_CSQ* csq, IRP* irp) {
    IoSetCancelRoutine(irp, cancel_queued);
    if (!__atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST)) return true;
    if (IoSetCancelRoutine(irp, nullptr) == nullptr) {
        IRPVERBS_PROBE("csq.cancelled_during_pend");
        return true; // the canceller has taken its cancel routine
    }
    IRPVERBS_PROBE("csq.cancelled_before_pend");
    csq->CsqRemoveIrp(csq, irp);
    clear_key(irp);
    return false;
}

} // namespace

extern "C" {

NTSTATUS IoCsqInitialize(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP CsqInsertIrp,
                         PIO_CSQ_REMOVE_IRP CsqRemoveIrp, PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                         PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock, PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                         PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp) {
    initialize(*Csq, plain_queue, CsqRemoveIrp, CsqPeekNextIrp, CsqAcquireLock, CsqReleaseLock,
               CsqCompleteCanceledIrp);
    Csq->CsqInsertIrp = CsqInsertIrp;
    return STATUS_SUCCESS;
}

NTSTATUS IoCsqInitializeEx(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP_EX CsqInsertIrp,
                           PIO_CSQ_REMOVE_IRP CsqRemoveIrp, PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                           PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock, PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                           PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp) {
    initialize(*Csq, queue_with_results, CsqRemoveIrp, CsqPeekNextIrp, CsqAcquireLock,
               CsqReleaseLock, CsqCompleteCanceledIrp);
    Csq->CsqInsertIrp = reinterpret_cast<PIO_CSQ_INSERT_IRP>(reinterpret_cast<void*>(CsqInsertIrp));
    return STATUS_SUCCESS;
}

NTSTATUS IoCsqInsertIrpEx(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context, PVOID InsertContext) {
    VERIFY_IRQL(IoCsqInsertIrp);
    if (instrumented()) irpverbs::irp::verify::check_use(Irp, "IoCsqInsertIrpEx");
    KIRQL level = PASSIVE_LEVEL;
    Csq->CsqAcquireLock(Csq, &level);
    void* held = Csq;
    if (Context != nullptr) {
        if (instrumented()) irpverbs::irp::verify::csq_key_given(Irp, Context);
        *Context = {key_type, Irp, Csq};
        held = Context;
    }
    Irp->Tail.Overlay.DriverContext[3] = held;
    const NTSTATUS status = insert_irp(Csq, Irp, InsertContext);
    if (!NT_SUCCESS(status)) {
        clear_key(Irp);
        Csq->CsqReleaseLock(Csq, level);
        return status;
    }
    IoMarkIrpPending(Irp);
    const bool queued = set_cancel_or_remove(Csq, Irp);
    Csq->CsqReleaseLock(Csq, level);
    if (queued) return status;
    if (instrumented()) irpverbs::irp::verify::cancelled_on_insert(Irp);
    Csq->CsqCompleteCanceledIrp(Csq, Irp);
    return status;
}

void IoCsqInsertIrp(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context) {
    IoCsqInsertIrpEx(Csq, Irp, Context, nullptr);
}

PIRP IoCsqRemoveIrp(PIO_CSQ Csq, PIO_CSQ_IRP_CONTEXT Context) {
    VERIFY_IRQL(IoCsqRemoveIrp);
    KIRQL level = PASSIVE_LEVEL;
    Csq->CsqAcquireLock(Csq, &level);
    PIRP irp = Context->Irp;
    if (irp != nullptr && IoSetCancelRoutine(irp, nullptr) == nullptr) {
        IRPVERBS_PROBE("csq.key_lost_to_cancel");
        irp = nullptr;
    }
    if (irp != nullptr) {
        Csq->CsqRemoveIrp(Csq, irp);
        clear_key(irp);
    }
    Csq->CsqReleaseLock(Csq, level);
    return irp;
}

PIRP IoCsqRemoveNextIrp(PIO_CSQ Csq, PVOID PeekContext) {
    VERIFY_IRQL(IoCsqRemoveNextIrp);
    KIRQL level = PASSIVE_LEVEL;
    Csq->CsqAcquireLock(Csq, &level);
    PIRP irp = Csq->CsqPeekNextIrp(Csq, nullptr, PeekContext);
    while (irp != nullptr && IoSetCancelRoutine(irp, nullptr) == nullptr) {
        IRPVERBS_PROBE("csq.remove_next_skipped_cancelled");
        irp = Csq->CsqPeekNextIrp(Csq, irp, PeekContext); // the canceller owns this IRP
    }
    if (irp != nullptr) {
        Csq->CsqRemoveIrp(Csq, irp);
        clear_key(irp);
    }
    Csq->CsqReleaseLock(Csq, level);
    return irp;
}

} // extern "C"
