// Work completions, as the channel interface has them.
#pragma once

#include <ci/completion.h>

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

IB_WC completion_of(const ibv_wc& from);

} // namespace irpverbs::hca_rdma
