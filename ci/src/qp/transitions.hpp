// The transitions between the states of a queue pair.
#pragma once

#include <ci/qp.h>

namespace irpverbs::ci {

/// The attributes of a transition: IB_MOD_QP_*, without IB_MOD_QP_STATE.
struct qp_transition {
    ULONG required;
    ULONG optional;
};

/// Null: the transition does not exist for this type. The states are single bits; IB_QPS_SQD stands
/// for a send queue that drains or is drained.
const qp_transition* find_transition(ib_qp_type_t type, ib_qp_state_t from, ib_qp_state_t to);

} // namespace irpverbs::ci
