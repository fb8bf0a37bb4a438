// The attributes of a queue pair, and their changes.
#pragma once

#include "node.hpp"

namespace irpverbs::hca_software {

/// The attributes of a new queue pair.
ib_qp_attr_t initial_attributes(const HCA_QP& qp);

/// The attributes after a change to IB_QPS_RESET: those that the creation set.
ib_qp_attr_t reset_attributes(const ib_qp_attr_t& of);

/// True if the port has such a way to a peer. On Ethernet it is global.
bool is_on(const port& at, const ib_av_attr_t& av);

/// Checks the values that depend on the port and on the limits of the HCA. `ports` are those of the
/// HCA, with the index as number; the caller holds the fabric's lock.
NTSTATUS check_limits(const std::deque<port>& ports, const ib_qp_attr_t& attr,
                      const ib_qp_mod_t& modify);

/// Checks a requested state of path migration. `to` is the new state of the queue pair.
NTSTATUS check_migration(const ib_qp_attr_t& attr, const ib_qp_mod_t& modify, ib_qp_state_t to);

/// Stores the attributes that `modify` names, except the states.
void apply(ib_qp_attr_t& attr, const ib_qp_mod_t& modify);

} // namespace irpverbs::hca_software
