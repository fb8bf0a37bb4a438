#include "transfers.hpp"

#include "qp_object.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <numeric>
#include <span>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

namespace {

LIST_ENTRY& link_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
IRP* irp_of(LIST_ENTRY* entry) { return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry); }

PVOID& owner_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[0]; }

PVOID& handle_word(IRP* irp) { return irp->Tail.Overlay.DriverContext[1]; }
ULONGLONG handle_of(IRP* irp) { return reinterpret_cast<ULONG_PTR>(handle_word(irp)); }

// When there is a canceller: of it and of the transfer's end, the first to be done leaves a mark
// here, and the second completes the IRP. The canceller does nothing after its mark.
PVOID& mark_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[2]; }
const PVOID ended_mark = reinterpret_cast<PVOID>(ULONG_PTR{1});
const PVOID canceller_mark = reinterpret_cast<PVOID>(ULONG_PTR{2});

parameters& parameters_of_irp(IRP* irp) { return parameters_of(IoGetCurrentIrpStackLocation(irp)); }

bool receives(IRP* irp) {
    return IoGetCurrentIrpStackLocation(irp)->MinorFunction == HCA_MN_TRANSFER_RECV;
}

ULONGLONG wr_id_of(IRP* irp) {
    const void* request = parameters_of_irp(irp).buffer;
    return receives(irp) ? static_cast<const ib_recv_wr_t*>(request)->wr_id
                         : static_cast<const ib_send_wr_t*>(request)->wr_id;
}

// The providers of libibverbs leave the byte count of sends undefined.
ULONG_PTR bytes_of(IRP* irp, const IB_WC& completion) {
    if (receives(irp)) return completion.ByteCount;
    const auto& request = *static_cast<const ib_send_wr_t*>(parameters_of_irp(irp).buffer);
    const std::span segments(request.ds_array, request.num_ds);
    return std::accumulate(
        segments.begin(), segments.end(), ULONG_PTR{0},
        [](ULONG_PTR sum, const ib_local_ds_t& segment) { return sum + segment.length; });
}

NTSTATUS status_of(ULONG completion_status) {
    switch (completion_status) {
    case IB_WC_SUCCESS:
        return STATUS_SUCCESS;
    case IB_WC_FLUSHED:
        return STATUS_CANCELLED;
    case IB_WC_LOCAL_PROTECTION_ERROR:
    case IB_WC_LOCAL_ACCESS_ERROR:
        return STATUS_ACCESS_VIOLATION;
    case IB_WC_LOCAL_LENGTH_ERROR:
        return STATUS_INVALID_BUFFER_SIZE;
    case IB_WC_REMOTE_ACCESS_ERROR:
    case IB_WC_MW_BIND_ERROR:
        return STATUS_ACCESS_DENIED;
    case IB_WC_REMOTE_INVALID_REQUEST_ERROR:
        return STATUS_REQUEST_NOT_ACCEPTED;
    case IB_WC_REMOTE_OPERATION_ERROR:
    case IB_WC_REMOTE_ABORTED:
        return STATUS_REQUEST_ABORTED;
    case IB_WC_BAD_RESPONSE_ERROR:
        return STATUS_INVALID_NETWORK_RESPONSE;
    case IB_WC_RETRY_EXCEEDED:
    case IB_WC_RESPONSE_TIMEOUT:
        return STATUS_IO_TIMEOUT;
    case IB_WC_RNR_RETRY_EXCEEDED:
        return STATUS_REMOTE_RESOURCES;
    default:
        return STATUS_IO_DEVICE_ERROR;
    }
}

// Returns true if no canceller has come, and none comes any more.
bool keep_cancellers_out(IRP* irp) {
    const bool cancelled = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    return !cancelled && IoSetCancelRoutine(irp, nullptr) != nullptr;
}

// Completes an IRP whose handle the caller has removed, or leaves that to its canceller.
void end(IRP* irp, NTSTATUS status, ULONG_PTR information) {
    if (!keep_cancellers_out(irp)) {
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        if (__atomic_exchange_n(&mark_of(irp), ended_mark, __ATOMIC_ACQ_REL) != canceller_mark)
            return;
    }
    finish(irp, status, information);
}

void end(IRP* irp, const IB_WC& completion) {
    const NTSTATUS status = status_of(completion.Status);
    const ULONG_PTR information = NT_SUCCESS(status) ? bytes_of(irp, completion) : 0;
    if (auto* into = reinterpret_cast<IB_WC*>(parameters_of_irp(irp).number); into != nullptr) {
        *into = completion;
        into->WrId = wr_id_of(irp);
    }
    end(irp, status, information);
}

// A canceller that has found the routine holds the lock until it has a reference, or has seen that
// there is nothing to reference: after this, cancellers use neither the queues nor the queue pair.
void await_cancellers() {
    KIRQL before = 0;
    IoAcquireCancelSpinLock(&before);
    IoReleaseCancelSpinLock(before);
}

} // namespace

// The canceller holds the cancel spin lock, as long as it may use this and the queue pair without a
// reference: see abandon().
qp_object* transfers::reference_qp(IRP* irp) {
    const spin_guard guard(lock_);
    if (handles_.find(handle_of(irp)) != irp) return nullptr;
    qp_object& qp = qp_object::of(parameters_of_irp(irp).object);
    return qp.try_reference() ? &qp : nullptr;
}

void transfers::cancel(DEVICE_OBJECT*, IRP* irp) {
    qp_object* qp = static_cast<transfers*>(owner_of(irp))->reference_qp(irp);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    if (qp != nullptr) {
        qp->flush.send(&qp->shared.Qp);
        qp->dereference();
    }
    const bool is_last =
        __atomic_exchange_n(&mark_of(irp), canceller_mark, __ATOMIC_ACQ_REL) == ended_mark;
    if (is_last) finish(irp, irp->IoStatus.Status, irp->IoStatus.Information);
}

NTSTATUS transfers::insert(IRP* irp, ULONGLONG& handle) {
    const spin_guard guard(lock_);
    handle = handles_.insert(irp);
    if (handle == 0) return STATUS_INSUFFICIENT_RESOURCES;
    owner_of(irp) = this;
    handle_word(irp) = reinterpret_cast<PVOID>(handle);
    mark_of(irp) = nullptr;
    IoSetCancelRoutine(irp, cancel);
    const bool late = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    if (late && IoSetCancelRoutine(irp, nullptr) != nullptr) {
        handles_.remove(handle);
        return STATUS_CANCELLED;
    }
    IoMarkIrpPending(irp);
    InsertTailList(&outstanding_, &link_of(irp));
    return STATUS_SUCCESS;
}

IRP* transfers::remove(ULONGLONG handle) {
    IRP* irp = handles_.remove(handle);
    if (irp != nullptr) RemoveEntryList(&link_of(irp));
    return irp;
}

void transfers::end_unposted(ULONGLONG handle, NTSTATUS status) {
    IRP* irp = nullptr;
    {
        const spin_guard guard(lock_);
        irp = remove(handle);
    }
    if (irp != nullptr) end(irp, status, 0);
}

// Returns false when the queue had no completion. One poll at a time is allowed.
bool transfers::end_some() {
    constexpr ULONG batch = 16;
    IB_WC completions[batch];
    IRP* irps[batch];
    ULONG taken = 0;
    {
        const spin_guard guard(lock_);
        const NTSTATUS status =
            device_of(queue_.Ca->Device).operations.PollCq(&queue_, batch, completions, &taken);
        if (!NT_SUCCESS(status)) return false;
        for (ULONG i = 0; i < taken; ++i)
            irps[i] = remove(completions[i].WrId);
    }
    for (ULONG i = 0; i < taken; ++i)
        if (irps[i] != nullptr) end(irps[i], completions[i]);
    return taken != 0;
}

// A completion that comes between the last poll and the arming generates no event: hence the poll
// after it.
NTSTATUS transfers::drain() {
    const hca_device& device = device_of(queue_.Ca->Device);
    NTSTATUS status = STATUS_SUCCESS;
    do {
        if (device.failed.load()) return STATUS_FILE_FORCED_CLOSED;
        while (end_some()) {
        }
        status = device.operations.ArmCq(&queue_, IB_CQ_ARM_NEXT, nullptr);
    } while (NT_SUCCESS(status) && end_some());
    return status;
}

void transfers::remove_all_of(const qp_object& qp, LIST_ENTRY& removed) {
    const spin_guard guard(lock_);
    for (LIST_ENTRY *each = outstanding_.Flink, *next = nullptr; each != &outstanding_;
         each = next) {
        next = each->Flink;
        IRP* irp = irp_of(each);
        if (parameters_of_irp(irp).object != &qp.shared) continue;
        remove(handle_of(irp));
        InsertTailList(&removed, each);
    }
}

void transfers::abandon(const qp_object& qp) {
    if (!device_of(queue_.Ca->Device).failed.load())
        while (end_some()) {
        }
    LIST_ENTRY removed;
    InitializeListHead(&removed);
    remove_all_of(qp, removed);
    while (!IsListEmpty(&removed))
        end(irp_of(RemoveHeadList(&removed)), STATUS_CANCELLED, 0);
    await_cancellers();
}

} // namespace irpverbs::ci
