#include "shared_receive_queue.hpp"

namespace irpverbs::hca_software::transport {

using dispatch::detail::spin_guard;

NTSTATUS shared_receive_queue::post(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    const spin_guard guard(lock_);
    return queue_.post(list, failed);
}

ULONG shared_receive_queue::count() const {
    const spin_guard guard(lock_);
    return queue_.count();
}

bool shared_receive_queue::take(receive_request& to, bool& reached_limit) {
    const spin_guard guard(lock_);
    const bool taken = queue_.take(to);
    reached_limit = taken && reach_limit();
    return taken;
}

// The limit is reached once. Source: IBA 10.2.9.3 (SRQ limit).
bool shared_receive_queue::reach_limit() {
    if (queue_.count() >= limit_) return false;
    limit_ = 0;
    return true;
}

NTSTATUS shared_receive_queue::modify(const ib_srq_mod_t& change, bool& reached_limit) {
    const spin_guard guard(lock_);
    const bool resizes = (change.opts & IB_MOD_SRQ_MAX_WR) != 0;
    const bool limits = (change.opts & IB_MOD_SRQ_LIMIT) != 0;
    const ULONG depth = resizes ? change.max_wr : queue_.depth();
    const ULONG limit = limits ? change.srq_limit : limit_;
    reached_limit = false;
    if (depth < queue_.count() || limit > depth) return STATUS_INVALID_PARAMETER;
    if (resizes && !queue_.resize(depth)) return STATUS_INSUFFICIENT_RESOURCES;
    limit_ = limit;
    reached_limit = reach_limit();
    return STATUS_SUCCESS;
}

ULONG shared_receive_queue::depth() const {
    const spin_guard guard(lock_);
    return queue_.depth();
}

ULONG shared_receive_queue::limit() const {
    const spin_guard guard(lock_);
    return limit_;
}

} // namespace irpverbs::hca_software::transport
