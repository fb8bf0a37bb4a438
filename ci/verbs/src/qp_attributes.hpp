// The conversion of a queue pair's attributes.
#pragma once

#include <verbs/library.h>

#include <ci/ci.h>

namespace irpverbs::verbs {

/// Returns false for a type that does not exist.
bool type_from_libibverbs(ibv_qp_type from, ib_qp_type_t& to);

/// Returns false for an attribute that cannot be changed, or a state that does not exist.
bool change_from_libibverbs(const ibv_qp_attr& from, int mask, ib_qp_mod_t& to);

ibv_qp_state as_libibverbs_state(ib_qp_state_t state);
ibv_qp_attr as_libibverbs(const ib_qp_attr_t& from);

} // namespace irpverbs::verbs
