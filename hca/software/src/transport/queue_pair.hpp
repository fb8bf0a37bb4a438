// A queue pair of the transport: requester and responder, and the state of both.
#pragma once

#include "path_migration.hpp"
#include "requester.hpp"
#include "responder.hpp"

namespace irpverbs::hca_software::transport {

/// Reads and atomics that a responder remembers at most.
inline constexpr ULONG most_reads = 16;

/// Knows packets and a clock, and no fabric. Guarded by its owner's locks, during which the engine
/// calls the owner: one of the requester, one of the responder. All functions need both, unless
/// they say otherwise; so either lock suffices to read the state. IRQL: <= DISPATCH_LEVEL.
class queue_pair {
public:
    /// The parameters outlive the queue pair. `receives` is null if it has a receive queue of its
    /// own, `room` if its carrier keeps packets in order.
    queue_pair(ib_qp_attr_t& attr, memory_access& memory, queue_pair_owner& owner,
               shared_receive_queue* receives = nullptr, early_packet_room* room = nullptr)
        : shared_{attr, memory, owner, receives, room}, requester_(shared_), responder_(shared_) {}
    queue_pair(const queue_pair&) = delete;
    queue_pair& operator=(const queue_pair&) = delete;

    /// Allocates queues of the attributes' sizes; nothing is allocated later. False: no memory.
    bool allocate() { return requester_.allocate() && responder_.allocate(most_reads); }

    ib_qp_state_t state() const { return shared_.state; }
    /// Enters a state that the owner has checked, after it changed the attributes. IB_QPS_SQD is
    /// IB_QPS_SQD_DRAINING at first; `report_drained`: IB_AE_SQ_DRAINED is reported when it ends.
    void enter(ib_qp_state_t to, bool report_drained = false);

    /// Enters a state of path migration that the owner has checked. IB_APM_MIGRATED in IB_APM_ARMED
    /// migrates.
    void enter_migration(ib_apm_state_t to);
    /// True if a packet must have come on the alternate path: this end migrates when it receives
    /// it.
    bool follows(const packet& what) const { return requests_migration(shared_, what); }
    /// A packet of which that is true has come on another path.
    void refuse_migration() { transport::refuse_migration(shared_); }

    /// True if both belong to the same connection, and have the same path MTU: work requests to
    /// `peer` may pass straight through. A difference is an error that packets report. The ends of
    /// an XRC connection have different types: it has packets only.
    bool is_joined_to(const queue_pair& peer) const;

    /// Posts a list, as CiPostSend does.
    NTSTATUS post_send(ib_send_wr_t* list, ib_send_wr_t** failed);
    /// Posts a binding, whose other members are not used.
    NTSTATUS post_bind(const ib_send_wr_t& what, const window_binding& binding);
    /// Posts a list, as CiPostRecv does, to a receive queue of its own. Needs the responder's lock.
    NTSTATUS post_receive(ib_recv_wr_t* list, ib_recv_wr_t** failed);

    /// Receives a packet of the peer: P_Key, number of the queue pair and route are checked.
    /// Transmits nothing: `run` must be called after one packet or several.
    void receive(const packet& what);
    /// Transmits responses, then requests, until nothing is left or the carrier is full.
    void run();
    void timer_expired();

    /// The numbers of the next packets.
    psn next_number() const { return requester_.next_number(); }
    psn expected_number() const { return responder_.expected(); }

private:
    template <class, class>
    friend class straight_through;
    friend struct straight_terms;

    NTSTATUS check_send(const ib_send_wr_t& what) const;
    NTSTATUS post_receive_in_any_state(ib_recv_wr_t* list, ib_recv_wr_t** failed);
    void settle();

    endpoint shared_;
    requester requester_;
    responder responder_;
    bool report_drained_ = false;
};

inline NTSTATUS queue_pair::post_receive(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    if (shared_.state > IB_QPS_RESET && shared_.state <= IB_QPS_RTS) [[likely]]
        return responder_.post(list, failed);
    return post_receive_in_any_state(list, failed);
}

} // namespace irpverbs::hca_software::transport
