// The requester: the half of a queue pair that executes the work requests of its send queue.
#pragma once

#include "endpoint.hpp"
#include "send_queue.hpp"

namespace irpverbs::hca_software::transport {

/// True if sequence number `one` is greater than `other`, both of 24 bits.
inline bool is_beyond(ULONG one, ULONG other) {
    const ULONG ahead = (one - other) & psn::mask;
    return ahead != 0 && ahead < psn::half;
}

inline IB_WC_OPCODE opcode_of_completion(ib_wr_type_t type) {
    switch (type) {
    case WR_RDMA_WRITE:
        return IB_WC_RDMA_WRITE;
    case WR_RDMA_READ:
        return IB_WC_RDMA_READ;
    case WR_COMPARE_SWAP:
        return IB_WC_COMPARE_AND_SWAP;
    case WR_FETCH_ADD:
        return IB_WC_FETCH_AND_ADD;
    case WR_LOCAL_INV:
        return IB_WC_LOCAL_INVALIDATE;
    case WR_BIND_MW:
        return IB_WC_BIND_MW;
    case WR_FAST_REG_MR:
        return IB_WC_FAST_REGISTER;
    case WR_ATOMIC_WRITE:
        return IB_WC_ATOMIC_WRITE;
    default:
        return IB_WC_SEND;
    }
}

/// Guarded by the lock of the queue pair. Source: IBA 9.7 (reliable service), 9.8 (unreliable).
class requester {
public:
    explicit requester(endpoint& shared) : shared_(shared), early_(shared.room) {}

    bool allocate() { return queue_.allocate(shared_.attr); }

    /// Begins with the packet number of the attributes.
    void start();
    NTSTATUS post(const ib_send_wr_t& what);
    NTSTATUS post(const ib_send_wr_t& what, const window_binding& binding);
    NTSTATUS post_binding(const ib_send_wr_t& what);
    NTSTATUS post_registration(const ib_send_wr_t& what);
    /// Transmits packets until there is nothing to send, or the carrier is full.
    void run();
    /// Receives a response.
    void receive(const packet& what);
    void timer_expired();
    /// Makes the alternate path the primary one, and continues there.
    void migrate();
    /// Sends again what has no response. The paths have been exchanged.
    void continue_on_new_path();
    /// Completes all work requests IB_WC_FLUSHED.
    void flush();
    /// Drops all work requests.
    void reset();
    /// True if no work request has been started that is not completed.
    bool is_drained() const { return queue_.is_empty() || !queue_[queue_.oldest()].started; }
    psn next_number() const { return next_number_; }

private:
    template <class, class>
    friend class straight_through;

    /// True if the next work request can be executed at once.
    bool is_idle() const {
        return shared_.state == IB_QPS_RTS && queue_.is_empty() && rnr_until_ == 0;
    }
    /// Counts messages whose packets need not be sent, up to the number `next`; the peer has
    /// receives up to the request with the number `credit_limit`.
    void passed_straight(ULONG messages, psn next, ULONG credit_limit);

    enum class step { done, blocked };

    bool is_outstanding(psn number) const {
        return number.since(unacknowledged_) < sent_end_.since(unacknowledged_);
    }

    void set_destination(const ib_send_ud_t& of);

    // ---- sending
    step send_next();
    bool may_start(const send_request& what) const;
    bool has_credit(const send_request& what) const;
    IB_WC_STATUS check(const send_request& what) const;
    IB_WC_STATUS check_datagram(const send_request& what) const;
    step start(send_request& what);
    step execute_locally(send_request& what);
    IB_WC_STATUS change_key(const send_request& what);
    step send_packet(send_request& what);
    bool is_window_full(const send_request& what) const;
    bool add_payload(const send_request& what, packet& to) const;
    step transmit(const send_request& what, const packet& made);
    step fail_memory();
    packet read_packet(const send_request& what) const;
    packet atomic_packet(const send_request& what) const;
    packet atomic_write_packet(const send_request& what) const;
    packet data_packet(const send_request& what) const;
    void advance(const send_request& what);

    // ---- responses
    void receive_in_turn(const packet& what);
    bool misses_response_before(psn number) const;
    bool keep(const packet& what);
    void receive_kept();
    bool acknowledge_until(psn end);
    void on_acknowledge(const packet& what);
    void on_rnr_nak(psn number, UCHAR timer_code);
    void on_nak(psn number, UCHAR why);
    void on_read_response(const packet& what);
    void on_atomic_response(const packet& what);
    send_request* awaited_by(const packet& what);
    void update_credits(const acknowledge_header& from);
    void progress_to(psn number);

    // ---- errors and time
    void retry();
    void implied_nak();
    void rewind();
    void restart_timer();
    void request_timer();
    void fail(IB_WC_STATUS status);
    void complete_oldest(IB_WC_STATUS status);
    void complete(IB_WC_STATUS status, ULONGLONG wr_id, ib_wr_type_t type, ib_send_opt_t options,
                  ULONG length);
    IB_WC completion_of(IB_WC_STATUS status, ULONGLONG wr_id, ib_wr_type_t type,
                        ULONG length) const;

    endpoint& shared_;
    send_queue queue_;
    early_packets early_;
    ULONG current_ = 0;      // the request whose packet is next
    psn next_;               // the number of that packet
    psn next_number_;        // of the next request that is started
    psn unacknowledged_;     // the oldest packet without a response
    psn sent_end_;           // the packet behind the last that was sent
    ULONG sequence_ = 0;     // SSN of the last request that was started
    ULONG credit_limit_ = 0; // LSN: requests up to it have a receive
    bool unlimited_ = false; // the peer gives no credits
    ULONG reads_ = 0;        // reads and atomics without their response
    ULONG unrequested_ = 0;  // packets since the last that requested an acknowledgement
    UCHAR retries_left_ = 0;
    UCHAR rnr_retries_left_ = 0;
    bool recovering_ = false;    // a lost response is known, and requested again
    machine_time rnr_until_ = 0; // 0: the peer is ready
    machine_time deadline_ = 0;  // of a response; 0: none
    machine_time gap_until_ = 0; // a missing response is awaited; 0: none is
    machine_time timer_ = 0;     // the time for which the timer is set; 0: none
};

inline void requester::passed_straight(ULONG messages, psn next, ULONG credit_limit) {
    next_number_ = next_ = unacknowledged_ = sent_end_ = next;
    sequence_ = (sequence_ + messages) & psn::mask;
    if (!unlimited_) credit_limit_ = credit_limit & psn::mask;
}

inline void requester::complete(IB_WC_STATUS status, ULONGLONG wr_id, ib_wr_type_t type,
                                ib_send_opt_t options, ULONG length) {
    const bool is_signaled = shared_.attr.sq_signaled || (options & IB_SEND_OPT_SIGNALED) != 0;
    if (status == IB_WC_SUCCESS && !is_signaled) return;
    shared_.owner.complete_send(completion_of(status, wr_id, type, length));
}

inline IB_WC requester::completion_of(IB_WC_STATUS status, ULONGLONG wr_id, ib_wr_type_t type,
                                      ULONG length) const {
    IB_WC entry = completion_entry(wr_id, opcode_of_completion(type), length, shared_.attr.num);
    entry.Status = status;
    return entry;
}

} // namespace irpverbs::hca_software::transport
