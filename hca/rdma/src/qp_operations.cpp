#include "qp_operations.hpp"

#include "adapter.hpp"
#include "queue_pair.hpp"

#include <new>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

queue_pair& pair_of(HCA_QP* qp) { return *extension_of(qp).pair; }

} // namespace

NTSTATUS execute_with_state(IRP* irp) {
    const IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    if (location->MinorFunction == HCA_MN_MODIFY_QP || location->MinorFunction == HCA_MN_FLUSH_QP)
        pair_of(static_cast<HCA_QP*>(location->Parameters.Others.Argument1)).read_state();
    return HcaExecute(irp);
}

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    const adapter& self = adapter::of(qp->Pd->Ca->Device);
    std::unique_ptr<queue_pair> made;
    const NTSTATUS status = queue_pair::make(self.context(), self.limits(), *qp, made);
    if (!NT_SUCCESS(status)) return status;
    if (irp->Cancel != FALSE) { // during the call of the kernel
        queue_pair::destroy(std::move(made));
        return STATUS_CANCELLED;
    }
    extension_of(qp).pair = made.release();
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    queue_pair::destroy(std::unique_ptr<queue_pair>(&pair_of(qp)));
    return STATUS_SUCCESS;
}

NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    return pair_of(qp).modify(*modify);
}

NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    ib_qp_attr_t seen{};
    const NTSTATUS status = pair_of(qp).query(seen);
    return NT_SUCCESS(status) ? HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp) : status;
}

NTSTATUS flush_qp(HCA_QP* qp, PIRP) {
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_STATE;
    change.req_state = IB_QPS_ERROR;
    return pair_of(qp).modify(change);
}

NTSTATUS attach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP irp) try {
    HcaCopyUserData(user, nullptr, 0);
    const NTSTATUS status = pair_of(mcast->Qp).attach(mcast->Mcast);
    if (!NT_SUCCESS(status) || irp->Cancel == FALSE) return status;
    pair_of(mcast->Qp).detach(mcast->Mcast);
    return STATUS_CANCELLED;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS detach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    pair_of(mcast->Qp).detach(mcast->Mcast);
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_rdma
