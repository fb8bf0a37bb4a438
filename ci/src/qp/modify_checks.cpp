// The check of a change of a queue pair.
#include "create_checks.hpp"
#include "objects/hca_device.hpp"
#include "transitions.hpp"

namespace irpverbs::ci {

namespace {

constexpr ULONG max_24_bits = 0xFFFFFF;
constexpr UCHAR max_5_bits = 31;
constexpr UCHAR max_retries = 7;

// Consumers of libibverbs also name local rights, which have no meaning here.
constexpr ib_access_t accepted_rights = IB_AC_REMOTE | IB_AC_LOCAL_WRITE | IB_AC_MW_BIND;

/// IB_QPS_SQD for a send queue that drains or is drained.
ib_qp_state_t single(ib_qp_state_t state) {
    const bool is_sqd = state == IB_QPS_SQD_DRAINING || state == IB_QPS_SQD_DRAINED;
    return is_sqd ? ULONG{IB_QPS_SQD} : state;
}

bool can_be_requested(ib_qp_state_t state) {
    switch (state) {
    case IB_QPS_RESET:
    case IB_QPS_INIT:
    case IB_QPS_RTR:
    case IB_QPS_RTS:
    case IB_QPS_SQD:
    case IB_QPS_SQERR:
    case IB_QPS_ERROR:
        return true;
    default:
        return false;
    }
}

class values {
public:
    values(const ib_qp_mod_t& modify, ULONG port_count)
        : modify_(modify), port_count_(port_count) {}

    bool are_good() const {
        return ports_are_good() && numbers_are_good() && timers_are_good() &&
               (!names(IB_MOD_QP_PRIMARY_AV) || is_good(modify_.primary_av)) &&
               (!names(IB_MOD_QP_ALTERNATE_AV) || is_good(modify_.alternate_av));
    }

private:
    bool names(ULONG opt) const { return (modify_.opts & opt) != 0; }
    bool at_most(ULONG opt, ULONG value, ULONG last) const { return !names(opt) || value <= last; }
    bool is_port(ULONG number) const { return number != 0 && number <= port_count_; }

    bool ports_are_good() const {
        return (!names(IB_MOD_QP_PRIMARY_PORT) || is_port(modify_.primary_port)) &&
               (!names(IB_MOD_QP_ACCESS_CTRL) || (modify_.access_ctrl & ~accepted_rights) == 0) &&
               (!names(IB_MOD_QP_APM_STATE) || modify_.apm_state == IB_APM_MIGRATED ||
                modify_.apm_state == IB_APM_REARM);
    }
    bool numbers_are_good() const {
        return at_most(IB_MOD_QP_DEST_QP, modify_.dest_qp, max_24_bits) &&
               at_most(IB_MOD_QP_SQ_PSN, modify_.sq_psn, max_24_bits) &&
               at_most(IB_MOD_QP_RQ_PSN, modify_.rq_psn, max_24_bits) &&
               (!names(IB_MOD_QP_PATH_MTU) ||
                (modify_.path_mtu >= IB_MTU_256 && modify_.path_mtu <= IB_MTU_4096));
    }
    bool timers_are_good() const {
        return at_most(IB_MOD_QP_RNR_NAK_TIMEOUT, modify_.rnr_nak_timeout, max_5_bits) &&
               at_most(IB_MOD_QP_LOCAL_ACK_TIMEOUT, modify_.local_ack_timeout, max_5_bits) &&
               at_most(IB_MOD_QP_ALTERNATE_AV, modify_.alternate_local_ack_timeout, max_5_bits) &&
               at_most(IB_MOD_QP_RETRY_CNT, modify_.retry_cnt, max_retries) &&
               at_most(IB_MOD_QP_RNR_RETRY_CNT, modify_.rnr_retry_cnt, max_retries);
    }
    bool is_good(const ib_av_attr_t& av) const {
        return is_way(av, port_count_) && av.dlid <= IB_LID_UNICAST_LAST;
    }

    const ib_qp_mod_t& modify_;
    const ULONG port_count_;
};

NTSTATUS check_attributes(const qp_transition& allowed, ULONG opts) {
    opts &= ~ULONG{IB_MOD_QP_STATE};
    const bool complete = (allowed.required & ~opts) == 0;
    const bool no_others = (opts & ~(allowed.required | allowed.optional)) == 0;
    return complete && no_others ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

} // namespace
} // namespace irpverbs::ci

using namespace irpverbs::ci;

extern "C" NTSTATUS HcaCheckQpModify(const HCA_QP* Qp, const ib_qp_mod_t* Modify) {
    const ib_qp_state_t state = HcaQpState(Qp);
    const bool names_state = (Modify->opts & IB_MOD_QP_STATE) != 0;
    const ib_qp_state_t to = names_state ? Modify->req_state : single(state);
    if (!can_be_requested(to)) return STATUS_INVALID_PARAMETER;
    const qp_transition* allowed = find_transition(Qp->Create.qp_type, single(state), to);
    const bool is_ending = to == IB_QPS_RESET || to == IB_QPS_ERROR;
    if (allowed == nullptr || (state == IB_QPS_SQD_DRAINING && !is_ending))
        return STATUS_INVALID_DEVICE_STATE;
    if (const NTSTATUS status = check_attributes(*allowed, Modify->opts); !NT_SUCCESS(status))
        return status;
    if ((Modify->opts & IB_MOD_QP_CURRENT_STATE) != 0 &&
        single(Modify->current_state) != single(state))
        return STATUS_INVALID_DEVICE_STATE;
    const ULONG ports = device_of(Qp->Pd->Ca->Device).description.PortCount;
    return values(*Modify, ports).are_good() ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}
