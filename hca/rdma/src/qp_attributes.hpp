// Conversions of the attributes of queue pairs.
#pragma once

#include <ci/driver.h>

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

/// The mask of ibv_modify_qp is ib_qp_mod_t.opts.
ibv_qp_attr as_libibverbs(const ib_qp_mod_t& from);

/// The state of IBV_QPS_SQD is IB_QPS_SQD_DRAINING or IB_QPS_SQD_DRAINED.
ib_qp_state_t state_of(const ibv_qp_attr& from);

/// The attributes that ibv_query_qp returned, and those of the creation.
ib_qp_attr_t attributes_of(const HCA_QP& owner, const ibv_qp_attr& from);

} // namespace irpverbs::hca_rdma
