#include "queue_pair.hpp"

#include "adapter.hpp"
#include "qp_attributes.hpp"

#include <new>

namespace irpverbs::hca_software {

namespace {

using dispatch::detail::spin_guard;

adapter& adapter_of(const HCA_QP* qp) { return adapter::of(qp->Pd->Ca->Device); }

bool is_within_limits(const ib_qp_create_t& wanted) {
    return wanted.sq_depth <= max_qp_wrs && wanted.rq_depth <= max_qp_wrs &&
           wanted.sq_sge <= max_sges && wanted.rq_sge <= max_sges &&
           wanted.sq_max_inline <= max_inline_data;
}

ib_qp_state_t new_state(const HCA_QP* qp, const ib_qp_mod_t& modify) {
    return (modify.opts & IB_MOD_QP_STATE) != 0 ? modify.req_state : HcaQpState(qp);
}

// Work requests cannot be posted, so the send queue is drained at once.
void enter(queue_pair& qp, ib_qp_state_t state) {
    if (state == IB_QPS_RESET) qp.attr = reset_attributes(qp.attr);
    HcaSetQpState(qp.shared, state == IB_QPS_SQD ? ULONG{IB_QPS_SQD_DRAINED} : state);
}

// An error may have changed the state since the common half checked the request.
NTSTATUS change(queue_pair& qp, const ib_qp_mod_t& modify) {
    const spin_guard guard(qp.lock);
    NTSTATUS status = HcaCheckQpModify(qp.shared, &modify);
    if (!NT_SUCCESS(status)) return status;
    const ib_qp_state_t to = new_state(qp.shared, modify);
    status = check_migration(qp.attr, modify, to);
    if (!NT_SUCCESS(status)) return status;
    apply(qp.attr, modify);
    enter(qp, to);
    return status;
}

} // namespace

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (!is_within_limits(qp->Create)) return STATUS_INVALID_PARAMETER;
    auto& made = *new (qp->Extension) queue_pair{};
    made.shared = qp;
    qp->Qp.Num = adapter_of(qp).qps().insert(made);
    if (qp->Qp.Num == 0) return STATUS_INSUFFICIENT_RESOURCES;
    made.attr = initial_attributes(*qp);
    return STATUS_SUCCESS;
}

NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter_of(qp).qps().remove(queue_pair::of(qp).attr.num);
    return STATUS_SUCCESS;
}

// Modifies of a queue pair execute one at a time, so its port stays the same between the locks.
NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter& self = adapter_of(qp);
    queue_pair& its = queue_pair::of(qp);
    const NTSTATUS status = self.owner_fabric().with_lock(
        [&] { return check_limits(self.own_node().ports, its.attr, *modify); });
    if (!NT_SUCCESS(status)) return status;
    const bool drains = new_state(qp, *modify) == IB_QPS_SQD;
    const NTSTATUS changed = change(its, *modify);
    const bool wants_event =
        (modify->opts & IB_MOD_QP_SQD_EVENT) != 0 && modify->sqd_event != FALSE;
    if (NT_SUCCESS(changed) && drains && wants_event) HcaReportQpEvent(qp, IB_AE_SQ_DRAINED);
    return changed;
}

NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    queue_pair& its = queue_pair::of(qp);
    ib_qp_attr_t seen;
    {
        const spin_guard guard(its.lock);
        seen = its.attr;
        seen.state = HcaQpState(qp);
    }
    return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
}

NTSTATUS flush_qp(HCA_QP* qp, PIRP) {
    queue_pair& its = queue_pair::of(qp);
    const spin_guard guard(its.lock);
    enter(its, IB_QPS_ERROR);
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software
