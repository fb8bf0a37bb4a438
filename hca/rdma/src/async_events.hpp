// libibverbs' asynchronous events, as the channel interface has them.
#pragma once

#include <ci/events.h>

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

/// IB_AE_NONE: one that nobody knows.
IB_ASYNC_EVENT event_of(ibv_event_type type);

} // namespace irpverbs::hca_rdma
