#include "qp_attributes.hpp"

#include "queue_pair.hpp"

#include "roce/ethernet_port.hpp"

namespace irpverbs::hca_software {

namespace {

bool names(const ib_qp_mod_t& modify, ULONG opt) { return (modify.opts & opt) != 0; }

/// The port that the queue pair has after the change.
UCHAR port_of(const ib_qp_attr_t& attr, const ib_qp_mod_t& modify) {
    return names(modify, IB_MOD_QP_PRIMARY_PORT) ? modify.primary_port : attr.primary_port;
}

template <class Value>
void set_if(const ib_qp_mod_t& modify, ULONG opt, Value& into, Value value) {
    if (names(modify, opt)) into = value;
}

} // namespace

bool is_on(const port& at, const ib_av_attr_t& av) {
    return av.port_num == at.number && av.path_bits < (1u << at.lmc) &&
           (av.grh_valid == FALSE ? at.ethernet == nullptr : av.grh.sgid_index < at.gids.size());
}

ib_qp_attr_t initial_attributes(const HCA_QP& qp) {
    ib_qp_attr_t made{};
    made.size = sizeof(made);
    made.qp_type = qp.Create.qp_type;
    made.h_pd = &qp.Pd->Pd;
    made.h_sq_cq = qp.Create.h_sq_cq;
    made.h_rq_cq = qp.Create.h_rq_cq;
    made.h_srq = qp.Create.h_srq;
    made.h_xrcd = qp.Create.h_xrcd;
    made.num = qp.Qp.Num;
    made.sq_depth = qp.Qp.SqDepth;
    made.rq_depth = qp.Qp.RqDepth;
    made.sq_sge = qp.Qp.SqSge;
    made.rq_sge = qp.Qp.RqSge;
    made.sq_max_inline = qp.Qp.SqMaxInline;
    made.sq_signaled = qp.Create.sq_signaled;
    return reset_attributes(made);
}

ib_qp_attr_t reset_attributes(const ib_qp_attr_t& of) {
    ib_qp_attr_t made{};
    made.size = of.size;
    made.qp_type = of.qp_type;
    made.h_pd = of.h_pd;
    made.h_sq_cq = of.h_sq_cq;
    made.h_rq_cq = of.h_rq_cq;
    made.h_srq = of.h_srq;
    made.h_xrcd = of.h_xrcd;
    made.state = IB_QPS_RESET;
    made.apm_state = IB_APM_MIGRATED;
    made.num = of.num;
    made.sq_depth = of.sq_depth;
    made.rq_depth = of.rq_depth;
    made.sq_sge = of.sq_sge;
    made.rq_sge = of.rq_sge;
    made.sq_max_inline = of.sq_max_inline;
    made.sq_signaled = of.sq_signaled;
    return made;
}

NTSTATUS check_limits(const std::deque<port>& ports, const ib_qp_attr_t& attr,
                      const ib_qp_mod_t& modify) {
    const UCHAR number = port_of(attr, modify);
    if (number == 0 || number >= ports.size()) return STATUS_SUCCESS; // it has no port yet
    const port& at = ports[number];
    const bool good =
        (!names(modify, IB_MOD_QP_PKEY) || modify.pkey_index < at.pkeys.size()) &&
        (!names(modify, IB_MOD_QP_PATH_MTU) || modify.path_mtu <= at.mtu) &&
        (!names(modify, IB_MOD_QP_PRIMARY_AV) || is_on(at, modify.primary_av)) &&
        (!names(modify, IB_MOD_QP_INIT_DEPTH) || modify.init_depth <= max_reads_of_qp) &&
        (!names(modify, IB_MOD_QP_RESP_RES) || modify.resp_res <= max_reads_of_qp);
    if (!good) return STATUS_INVALID_PARAMETER;
    if (!names(modify, IB_MOD_QP_ALTERNATE_AV)) return STATUS_SUCCESS;
    const port& alternate = ports[modify.alternate_av.port_num];
    if (alternate.ethernet != nullptr) return STATUS_NOT_SUPPORTED;
    return is_on(alternate, modify.alternate_av) &&
                   modify.alternate_pkey_index < alternate.pkeys.size()
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_migration(const ib_qp_attr_t& attr, const ib_qp_mod_t& modify, ib_qp_state_t to) {
    if (!names(modify, IB_MOD_QP_APM_STATE)) return STATUS_SUCCESS;
    const bool has_alternate =
        names(modify, IB_MOD_QP_ALTERNATE_AV) || attr.alternate_av.port_num != 0;
    const bool sends = to == IB_QPS_RTS || (to & IB_QPS_SQD) != 0;
    const bool may_rearm = attr.apm_state != IB_APM_ARMED && sends && has_alternate;
    const bool may_migrate = attr.apm_state != IB_APM_REARM;
    return (modify.apm_state == IB_APM_REARM ? may_rearm : may_migrate)
               ? STATUS_SUCCESS
               : STATUS_INVALID_DEVICE_STATE;
}

void apply(ib_qp_attr_t& attr, const ib_qp_mod_t& modify) {
    set_if(modify, IB_MOD_QP_ACCESS_CTRL, attr.access_ctrl, modify.access_ctrl);
    set_if(modify, IB_MOD_QP_PKEY, attr.pkey_index, modify.pkey_index);
    set_if(modify, IB_MOD_QP_PRIMARY_PORT, attr.primary_port, modify.primary_port);
    set_if(modify, IB_MOD_QP_QKEY, attr.qkey, modify.qkey);
    set_if(modify, IB_MOD_QP_PRIMARY_AV, attr.primary_av, modify.primary_av);
    set_if(modify, IB_MOD_QP_PATH_MTU, attr.path_mtu, modify.path_mtu);
    set_if(modify, IB_MOD_QP_LOCAL_ACK_TIMEOUT, attr.local_ack_timeout, modify.local_ack_timeout);
    set_if(modify, IB_MOD_QP_RETRY_CNT, attr.retry_cnt, modify.retry_cnt);
    set_if(modify, IB_MOD_QP_RNR_RETRY_CNT, attr.rnr_retry_cnt, modify.rnr_retry_cnt);
    set_if(modify, IB_MOD_QP_RQ_PSN, attr.rq_psn, modify.rq_psn);
    set_if(modify, IB_MOD_QP_SQ_PSN, attr.sq_psn, modify.sq_psn);
    set_if(modify, IB_MOD_QP_INIT_DEPTH, attr.init_depth, modify.init_depth);
    set_if(modify, IB_MOD_QP_RESP_RES, attr.resp_res, modify.resp_res);
    set_if(modify, IB_MOD_QP_RNR_NAK_TIMEOUT, attr.rnr_nak_timeout, modify.rnr_nak_timeout);
    set_if(modify, IB_MOD_QP_DEST_QP, attr.dest_num, modify.dest_qp);
    set_if(modify, IB_MOD_QP_RATE_LIMIT, attr.rate_limit, modify.rate_limit);
    if (!names(modify, IB_MOD_QP_ALTERNATE_AV)) return;
    attr.alternate_av = modify.alternate_av;
    attr.alternate_pkey_index = modify.alternate_pkey_index;
    attr.alternate_local_ack_timeout = modify.alternate_local_ack_timeout;
}

} // namespace irpverbs::hca_software
