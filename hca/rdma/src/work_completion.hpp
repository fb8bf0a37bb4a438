// Work completions, as the channel interface has them.
#pragma once

#include <ci/completion.h>

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

/// The place where libibverbs puts entries, of which `translate` makes ours: they are as long, and
/// most of their fields are the same.
inline ibv_wc* as_libibverbs(IB_WC* entries) { return reinterpret_cast<ibv_wc*>(entries); }
void translate(IB_WC* entries, int count);

} // namespace irpverbs::hca_rdma
