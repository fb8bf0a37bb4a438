#include "queue_pair.hpp"

#include "adapter.hpp"
#include "qp_attributes.hpp"

#include <memory>
#include <new>

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_QP* qp) { return adapter::of(qp->Pd->Ca->Device); }

bool is_within_limits(const ib_qp_create_t& wanted) {
    return wanted.sq_depth <= max_qp_wrs && wanted.rq_depth <= max_qp_wrs &&
           wanted.sq_sge <= max_sges && wanted.rq_sge <= max_sges &&
           wanted.sq_max_inline <= max_inline_data;
}

ib_qp_state_t new_state(const HCA_QP* qp, const ib_qp_mod_t& modify) {
    return (modify.opts & IB_MOD_QP_STATE) != 0 ? modify.req_state : HcaQpState(qp);
}

// The state is stored before the engine enters it, as the engine may leave it at once.
void enter(queue_pair& qp, ib_qp_state_t state, bool report_drained = false) {
    if (state == IB_QPS_RESET) qp.attr = reset_attributes(qp.attr);
    HcaSetQpState(qp.shared, state == IB_QPS_SQD ? ULONG{IB_QPS_SQD_DRAINING} : state);
    qp.engine.enter(state, report_drained);
}

// An error may have changed the state since the common half checked the request.
NTSTATUS change(queue_pair& qp, const ib_qp_mod_t& modify) {
    NTSTATUS status = HcaCheckQpModify(qp.shared, &modify);
    if (!NT_SUCCESS(status)) return status;
    const ib_qp_state_t to = new_state(qp.shared, modify);
    status = check_migration(qp.attr, modify, to);
    if (!NT_SUCCESS(status)) return status;
    apply(qp.attr, modify);
    ++qp.revision;
    if ((modify.opts & IB_MOD_QP_APM_STATE) != 0) qp.engine.enter_migration(modify.apm_state);
    const bool wants_event = (modify.opts & IB_MOD_QP_SQD_EVENT) != 0 && modify.sqd_event != FALSE;
    if ((modify.opts & IB_MOD_QP_STATE) != 0) enter(qp, to, wants_event);
    return status;
}

bool has_responder(ib_qp_state_t state) {
    return state != IB_QPS_RESET && state != IB_QPS_INIT && state != IB_QPS_ERROR;
}

// The attributes, with the state and the packet numbers of the engine.
ib_qp_attr_t seen_attributes(const queue_pair& of) {
    ib_qp_attr_t seen = of.attr;
    seen.state = HcaQpState(of.shared);
    if (!has_responder(seen.state)) return seen;
    seen.rq_psn = of.engine.expected_number().value();
    if (seen.state != IB_QPS_RTR) seen.sq_psn = of.engine.next_number().value();
    return seen;
}

} // namespace

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (!is_within_limits(qp->Create)) return STATUS_INVALID_PARAMETER;
    auto& made = *new (qp->Extension) queue_pair(qp, adapter_of(qp));
    if (made.engine.allocate()) qp->Qp.Num = adapter_of(qp).qps().insert(made);
    if (qp->Qp.Num == 0) {
        std::destroy_at(&made);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    made.call([&](transport::queue_pair&) { made.attr.num = qp->Qp.Num; });
    adapter_of(qp).accesses().add(made);
    qp->Posts.Queue = &made;
    HcaSetQpPosts(qp, post_send, post_receive);
    return STATUS_SUCCESS;
}

// A reset drops the work requests without completions. Packets and wakes that are under way do not
// find the queue pair in the table.
NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    queue_pair& its = queue_pair::of(qp);
    adapter_of(qp).qps().remove(its.attr.num);
    its.call([&](transport::queue_pair&) { enter(its, IB_QPS_RESET); });
    its.end_straight();
    adapter_of(qp).accesses().remove(its);
    const NTSTATUS status = adapter_of(qp).traffic().remove(its, irp);
    if (status == STATUS_SUCCESS) std::destroy_at(&its);
    return status;
}

NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter& self = adapter_of(qp);
    queue_pair& its = queue_pair::of(qp);
    const NTSTATUS changed = its.call([&](transport::queue_pair&) {
        const NTSTATUS status = self.owner_fabric().with_lock(
            [&] { return check_limits(self.own_node().ports, its.attr, *modify); });
        return NT_SUCCESS(status) ? change(its, *modify) : status;
    });
    its.end_straight();
    return changed;
}

NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    queue_pair& its = queue_pair::of(qp);
    const ib_qp_attr_t seen =
        its.call([&](transport::queue_pair&) { return seen_attributes(its); });
    return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
}

NTSTATUS flush_qp(HCA_QP* qp, PIRP) {
    queue_pair& its = queue_pair::of(qp);
    its.call([&](transport::queue_pair&) { enter(its, IB_QPS_ERROR); });
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software
