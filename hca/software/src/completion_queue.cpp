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
struct queue {
    KSPIN_LOCK polls = 0; // held by consumers, except those of direct polls
    completion_ring ring;
};

queue& queue_of(const HCA_CQ* cq) { return *static_cast<queue*>(cq->Extension); }

IB_WC* allocate(ULONG capacity) {
    return static_cast<IB_WC*>(ExAllocatePoolWithTag(NonPagedPool, capacity * sizeof(IB_WC), tag));
}

// PFN_HCA_DIRECT_POLL; the queue is the ring.
int poll_directly(ibv_cq* queue, int count, ibv_wc* entries) {
    return static_cast<int>(reinterpret_cast<completion_ring*>(queue)->take(
        static_cast<ULONG>(count), reinterpret_cast<IB_WC*>(entries)));
}

NTSTATUS make_ring(HCA_CQ* cq) {
    if (cq->Cq.NumCqes > max_cqes) return STATUS_INVALID_PARAMETER;
    const ULONG capacity = std::bit_ceil(cq->Cq.NumCqes);
    IB_WC* memory = allocate(capacity);
    if (memory == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    (new (cq->Extension) queue)->ring.begin(memory, capacity);
    cq->Cq.NumCqes = capacity;
    return STATUS_SUCCESS;
}

NTSTATUS resize_ring(HCA_CQ* cq, ULONG num_cqes, PIRP irp) {
    if (num_cqes > max_cqes) return STATUS_INVALID_PARAMETER;
    const ULONG capacity = std::bit_ceil(num_cqes);
    IB_WC* made = allocate(capacity);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    queue& its = queue_of(cq);
    IB_WC* former = nullptr;
    {
        const dispatch::detail::spin_guard guard(its.polls);
        HcaRevokeDirectPoll(cq);
        former = its.ring.replace(made, capacity, num_cqes);
        if (former != nullptr) cq->Cq.NumCqes = capacity;
    }
    ExFreePoolWithTag(former != nullptr ? former : made, tag);
    if (former == nullptr) return STATUS_INVALID_PARAMETER;
    irp->IoStatus.Information = capacity;
    return STATUS_SUCCESS;
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
    ExFreePoolWithTag(ring_of(cq).memory(), tag);
    return STATUS_SUCCESS;
}

NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp) {
    const auto [capacity, count] = ring_of(cq).query();
    const IB_CQ_ATTR seen{sizeof(IB_CQ_ATTR), capacity, count};
    return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
}

NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user, PIRP irp) {
    return with_reply(user, cq, resize_ring(cq, num_cqes, irp));
}

NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken) {
    queue& from = queue_of(cq);
    const dispatch::detail::spin_guard guard(from.polls);
    *taken = from.ring.take(count, entries);
    HcaEnableDirectPoll(cq, poll_directly, reinterpret_cast<ibv_cq*>(&from.ring));
    return STATUS_SUCCESS;
}

NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP) {
    if (ring_of(cq).arm(flags)) HcaReportCqCompletion(cq);
    return STATUS_SUCCESS;
}

completion_ring& ring_of(const HCA_CQ* cq) { return queue_of(cq).ring; }

void report_cq(HCA_CQ* cq, cq_reports reports) {
    if ((reports & cq_report::completion) != 0) HcaReportCqCompletion(cq);
    if ((reports & cq_report::error) != 0) HcaReportCqEvent(cq, IB_AE_CQ_ERROR);
}

NTSTATUS insert_completion(HCA_CQ* cq, const IB_WC& completion) {
    const cq_reports reports = ring_of(cq).add(completion);
    report_cq(cq, reports);
    return (reports & cq_report::lost) != 0 ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

SIZE_T cq_extension_size() { return sizeof(queue); }

} // namespace irpverbs::hca_software
