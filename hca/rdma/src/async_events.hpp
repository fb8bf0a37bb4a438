// Converts libibverbs' asynchronous events to those of the channel interface.
#pragma once

#include <ci/events.h>

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

/// IB_AE_NONE for an unknown event.
IB_ASYNC_EVENT event_of(ibv_event_type type);

/// True if the event names a shared receive queue.
bool is_of_shared_receives(ibv_event_type type);

/// True if the event names a queue pair.
bool is_of_queue_pair(ibv_event_type type);

} // namespace irpverbs::hca_rdma
