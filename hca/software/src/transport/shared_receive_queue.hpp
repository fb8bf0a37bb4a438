// A receive queue that queue pairs share.
#pragma once

#include "receive_queue.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::hca_software::transport {

/// The owner of a shared receive queue with an XRC domain. Queue pairs call it under their locks.
class xrc_owner {
public:
    virtual const IB_XRCD* domain() const = 0;
    /// False: the completion queue was full.
    virtual bool complete(const IB_WC& entry) = 0;
    virtual void report_limit() = 0;

protected:
    ~xrc_owner() = default;
};

/// Has a lock of its own, which is acquired after those of queue pairs. IRQL: <= DISPATCH_LEVEL.
/// Source: IBA 10.2.9 (shared receive queues).
class shared_receive_queue {
public:
    /// `memory` has the regions that the receives name, and those of the peers' keys if the queue
    /// has an XRC domain: then `owner` is not null. Both outlive the queue.
    explicit shared_receive_queue(memory_access& memory, xrc_owner* owner = nullptr)
        : memory_(memory), owner_(owner) {}
    shared_receive_queue(const shared_receive_queue&) = delete;
    shared_receive_queue& operator=(const shared_receive_queue&) = delete;

    /// False: no memory.
    bool allocate(ULONG depth, ULONG max_segments) { return queue_.allocate(depth, max_segments); }

    /// Posts a list, as CiPostSrqRecv does.
    NTSTATUS post(ib_recv_wr_t* list, ib_recv_wr_t** failed);
    ULONG count() const;
    /// Takes the oldest receive. False: there is none.
    bool take(receive_request& to, bool& reached_limit);

    /// Changes depth and limit. STATUS_INVALID_PARAMETER: the receives that are outstanding do not
    /// fit into the depth, or the limit is beyond it. STATUS_INSUFFICIENT_RESOURCES.
    NTSTATUS modify(const ib_srq_mod_t& change, bool& reached_limit);
    ULONG depth() const;
    ULONG limit() const;

    memory_access& memory() const { return memory_; }
    xrc_owner* owner() const { return owner_; }

private:
    bool reach_limit();

    memory_access& memory_;
    xrc_owner* const owner_;
    mutable KSPIN_LOCK lock_ = 0;
    receive_queue queue_; // guarded by lock_, as the next
    ULONG limit_ = 0;     // 0: none
};

} // namespace irpverbs::hca_software::transport
