#include "completion_queue.hpp"

#include "adapter.hpp"

#include <dispatch/support/spin_lock.hpp>
#include <hca/software.h>

#include <bit>
#include <new>

namespace irpverbs::hca_software {

namespace {

constexpr ULONG tag = 0x71637773; // "swcq"

/// HCA_CQ.Extension
struct ring {
    KSPIN_LOCK lock;
    IB_WC* entries; // guarded by lock, as are the members below
    ULONG capacity; // a power of two
    ULONG first;
    ULONG count;
    ULONG solicited; // of these, entries that satisfy IB_CQ_ARM_SOLICITED
    ULONG armed;     // IB_CQ_ARM, or 0
    bool overrun;
};

ring& ring_of(HCA_CQ* cq) { return *static_cast<ring*>(cq->Extension); }

IB_WC* allocate(ULONG capacity) {
    return static_cast<IB_WC*>(ExAllocatePoolWithTag(NonPagedPool, capacity * sizeof(IB_WC), tag));
}

// Solicited or failed entries. Source: IBA 11.4.2.2.
bool is_solicited(const IB_WC& entry) {
    return entry.Status != IB_WC_SUCCESS || (entry.Flags & IB_WC_SOLICITED) != 0;
}

// Returns true once: the consumer is to be notified.
bool take_notification(ring& at) {
    const bool satisfied = (at.armed == IB_CQ_ARM_NEXT && at.count != 0) ||
                           (at.armed == IB_CQ_ARM_SOLICITED && at.solicited != 0);
    if (satisfied) at.armed = 0;
    return satisfied;
}

// The number is also read without the lock.
void set_count(ring& of, ULONG count) { __atomic_store_n(&of.count, count, __ATOMIC_RELAXED); }

void remove_first(ring& from, IB_WC& to) {
    const IB_WC& entry = from.entries[from.first & (from.capacity - 1)];
    to = entry;
    if (is_solicited(entry)) --from.solicited;
    ++from.first;
    set_count(from, from.count - 1);
}

void insert_last(ring& into, const IB_WC& entry) {
    into.entries[(into.first + into.count) & (into.capacity - 1)] = entry;
    if (is_solicited(entry)) ++into.solicited;
    set_count(into, into.count + 1);
}

// A poll of an empty queue writes nothing, so that it does not disturb the queue pairs.
ULONG take_entries(ring& from, ULONG count, IB_WC* entries) {
    if (__atomic_load_n(&from.count, __ATOMIC_RELAXED) == 0) return 0;
    const dispatch::detail::spin_guard guard(from.lock);
    ULONG taken = 0;
    while (taken < count && from.count != 0)
        remove_first(from, entries[taken++]);
    return taken;
}

// PFN_HCA_DIRECT_POLL; the queue is the ring.
int poll_directly(ibv_cq* queue, int count, ibv_wc* entries) {
    return static_cast<int>(take_entries(*reinterpret_cast<ring*>(queue), static_cast<ULONG>(count),
                                         reinterpret_cast<IB_WC*>(entries)));
}

// Moves the entries and returns the old memory.
IB_WC* replace(ring& at, IB_WC* fresh, ULONG capacity) {
    for (ULONG i = 0; i < at.count; ++i)
        fresh[i] = at.entries[(at.first + i) & (at.capacity - 1)];
    IB_WC* old = at.entries;
    at.entries = fresh;
    at.capacity = capacity;
    at.first = 0;
    return old;
}

NTSTATUS make_ring(HCA_CQ* cq) {
    if (cq->Cq.NumCqes > max_cqes) return STATUS_INVALID_PARAMETER;
    ring& made = *new (cq->Extension) ring{};
    made.capacity = std::bit_ceil(cq->Cq.NumCqes);
    made.entries = allocate(made.capacity);
    if (made.entries == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    cq->Cq.NumCqes = made.capacity;
    return STATUS_SUCCESS;
}

NTSTATUS resize_ring(HCA_CQ* cq, ULONG num_cqes, PIRP irp) {
    if (num_cqes > max_cqes) return STATUS_INVALID_PARAMETER;
    const ULONG capacity = std::bit_ceil(num_cqes);
    IB_WC* unused = allocate(capacity);
    if (unused == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    ring& at = ring_of(cq);
    NTSTATUS status = STATUS_INVALID_PARAMETER;
    {
        const dispatch::detail::spin_guard guard(at.lock);
        if (at.count <= num_cqes) {
            unused = replace(at, unused, capacity);
            cq->Cq.NumCqes = capacity;
            irp->IoStatus.Information = capacity;
            status = STATUS_SUCCESS;
        }
    }
    ExFreePoolWithTag(unused, tag);
    return status;
}

// Returns the result of the verb, with the reply to the user's library.
NTSTATUS with_reply(CI_UDATA* user, const HCA_CQ* cq, NTSTATUS status) {
    const HCA_SOFTWARE_CQ_REPLY reply{cq->Cq.NumCqes};
    HcaCopyUserData(user, &reply, NT_SUCCESS(status) ? sizeof(reply) : 0);
    return status;
}

} // namespace

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user, PIRP) { return with_reply(user, cq, make_ring(cq)); }

NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    ExFreePoolWithTag(ring_of(cq).entries, tag);
    return STATUS_SUCCESS;
}

NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp) {
    ring& at = ring_of(cq);
    IB_CQ_ATTR seen{sizeof(IB_CQ_ATTR), 0, 0};
    {
        const dispatch::detail::spin_guard guard(at.lock);
        seen.NumCqes = at.capacity;
        seen.Filled = at.count;
    }
    return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
}

NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user, PIRP irp) {
    return with_reply(user, cq, resize_ring(cq, num_cqes, irp));
}

NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken) {
    ring& from = ring_of(cq);
    *taken = take_entries(from, count, entries);
    const dispatch::detail::spin_guard guard(from.lock);
    HcaEnableDirectPoll(cq, poll_directly, reinterpret_cast<ibv_cq*>(&from));
    return STATUS_SUCCESS;
}

NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP) {
    ring& at = ring_of(cq);
    bool notify = false;
    {
        const dispatch::detail::spin_guard guard(at.lock);
        if (at.armed != IB_CQ_ARM_NEXT) at.armed = flags;
        notify = take_notification(at);
    }
    if (notify) HcaReportCqCompletion(cq);
    return STATUS_SUCCESS;
}

cq_reports add_completion(HCA_CQ* cq, const IB_WC& completion) {
    ring& into = ring_of(cq);
    const dispatch::detail::spin_guard guard(into.lock);
    const bool taken = !into.overrun && into.count < into.capacity;
    const bool newly_overrun = !taken && !into.overrun;
    into.overrun = !taken;
    if (taken) insert_last(into, completion);
    return {taken && take_notification(into), newly_overrun, !taken};
}

void report_cq(HCA_CQ* cq, const cq_reports& reports) {
    if (reports.completion) HcaReportCqCompletion(cq);
    if (reports.error) HcaReportCqEvent(cq, IB_AE_CQ_ERROR);
}

NTSTATUS insert_completion(HCA_CQ* cq, const IB_WC& completion) {
    const cq_reports reports = add_completion(cq, completion);
    report_cq(cq, reports);
    return reports.lost ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

SIZE_T cq_extension_size() { return sizeof(ring); }

} // namespace irpverbs::hca_software
