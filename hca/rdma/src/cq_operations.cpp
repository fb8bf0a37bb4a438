// The driver's operations for completion queues.
#include "operations.hpp"

#include "adapter.hpp"
#include "completion_queue.hpp"
#include "failure.hpp"

#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

completion_queue& completion_queue::of(IB_CQ* cq) {
    return *extension_of(CONTAINING_RECORD(cq, HCA_CQ, Cq)).queue;
}

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    const adapter& self = adapter::of(cq->Ca->Device);
    if (!self.has_verbs()) return STATUS_NOT_SUPPORTED;
    std::unique_ptr<completion_queue> made;
    const NTSTATUS status = completion_queue::make(self.context(), *cq, made);
    if (!NT_SUCCESS(status)) return status;
    if (irp->Cancel != FALSE) { // during the call of the kernel
        completion_queue::destroy(std::move(made));
        return STATUS_CANCELLED;
    }
    extension_of(cq).queue = made.release();
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    completion_queue::destroy(std::unique_ptr<completion_queue>(extension_of(cq).queue));
    return STATUS_SUCCESS;
}

NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp) {
    IB_CQ_ATTR seen{sizeof(IB_CQ_ATTR), cq->Cq.NumCqes, 0};
    seen.Filled = extension_of(cq).queue->filled();
    return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
}

NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const NTSTATUS status = extension_of(cq).queue->resize(num_cqes);
    irp->IoStatus.Information = cq->Cq.NumCqes;
    return status;
}

NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken) {
    const int got = extension_of(cq).queue->poll(count, entries);
    if (got < 0) return adapter::of(cq->Ca->Device).context().failure(-got);
    *taken = static_cast<ULONG>(got);
    return STATUS_SUCCESS;
}

NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP) { return extension_of(cq).queue->arm(flags); }

} // namespace irpverbs::hca_rdma
