// The responder: the half of a queue pair that executes the requests of its peer.
#pragma once

#include "endpoint.hpp"
#include "read_resources.hpp"
#include "receive_queue.hpp"

#include <optional>
#include <utility>

namespace irpverbs::hca_software::transport {

inline bool is_atomic(operation what) {
    return what == operation::compare_swap || what == operation::fetch_add;
}

/// True if the response is that of the operation, once, and is repeated for a duplicate.
inline bool is_any_atomic(operation what) {
    return is_atomic(what) || what == operation::atomic_write;
}

/// Guarded by the lock of the queue pair. Source: IBA 9.7 (reliable service), 9.8 (unreliable).
class responder {
public:
    explicit responder(endpoint& shared) : shared_(shared), early_(shared.room) {}

    bool allocate(ULONG most_reads) {
        return queue_.allocate(shared_.attr.rq_depth, shared_.attr.rq_sge) &&
               resources_.allocate(most_reads);
    }

    /// Begins with the packet number of the attributes.
    void start();
    NTSTATUS post(ib_recv_wr_t* list, ib_recv_wr_t** failed) { return queue_.post(list, failed); }
    /// Receives a request.
    void receive(const packet& what);
    /// Transmits responses until all are sent, or the carrier is full.
    void run();
    /// Completes all receives IB_WC_FLUSHED, beginning with the one of the current message. Those
    /// of a shared queue stay there: IB_AE_LAST_WQE_REACHED is reported instead.
    void flush();
    /// Drops all receives.
    void reset();
    /// Drops the responses that are not yet sent.
    void drop_responses();
    psn expected() const { return expected_; }

private:
    template <class, class>
    friend class straight_through;
    friend struct straight_terms;

    /// True if a request whose first packet has this number can be executed at once.
    bool is_idle_at(psn number) const;
    /// Counts messages that were executed without packets; `next` is the number of the next packet.
    void passed_straight(ULONG messages, psn next);
    /// The number behind the last message that has a receive, without a wrap.
    ULONG credit_limit() const { return messages_ + queue_.count(); }
    /// Returns the receive's number: of the one that is taken, or of the oldest.
    ULONGLONG finish_receive();

    /// A response without data; acknowledgements coalesce into the newest.
    struct reply {
        psn number;
        UCHAR syndrome;
    };

    /// The operation of which packets are received.
    struct message {
        operation what = operation::reserved; // reserved: none
        bool dropped = false;                 // unreliable: the rest of it is ignored
        ULONGLONG received = 0;               // bytes
        rdma_header target;                   // of a write
        ULONG srq = 0;                        // that its packets name, of an XRC target
    };

    // ---- reliable
    void receive_reliable(const packet& what);
    void receive_expected(const packet& what);
    void receive_kept();
    void request_again();
    void execute_write_or_send(const packet& what);
    void execute_read(const packet& what);
    void execute_atomic(const packet& what);
    void execute_atomic_write(const packet& what);
    void remember_atomic(read_resource& place, operation what, ULONGLONG result);
    void add_resource(psn next_expected);
    static bool perform(memory_access& memory, const atomic_header& on, operation what, UCHAR* at,
                        ULONGLONG& before);
    static bool write_word(memory_access& memory, UCHAR* at, ULONGLONG value);
    void receive_duplicate(const packet& what);
    void replay_read(const packet& what);
    void replay_atomic(const packet& what);
    bool is_next(const opcode_row& row) const;
    bool is_granted(operation what) const;
    void send_rnr_nak();
    void send_nak(UCHAR why, IB_WC_STATUS of_receive);
    void send_nak(UCHAR why, IB_WC_STATUS of_receive, psn number);
    void send_nak(UCHAR why, IB_WC_STATUS of_receive, psn number, IB_ASYNC_EVENT event);
    void accept(const packet& what);

    // ---- XRC targets
    void look_up(ULONG srq);
    bool is_of_domain() const;
    bool check_receives(const packet& what);

    // ---- unreliable
    void receive_unreliable(const packet& what);
    bool begin_unreliable(const packet& what);
    void receive_datagram(const packet& what);

    // ---- all services
    struct outcome {
        UCHAR nak = 0; // 0: executed
        IB_WC_STATUS of_receive = IB_WC_SUCCESS;
    };
    bool shares_receives() const { return shared_.shared_receives != nullptr; }
    bool ensure_receive();
    bool take_shared();
    bool has_receive() const;
    memory_access& receive_memory() const;
    memory_access& remote_memory() const;
    bool has_receive_for(const opcode_row& row);
    bool has_right_length(const packet& what) const;
    outcome execute(const packet& what);
    outcome execute_send(const packet& what);
    outcome execute_write(const packet& what);
    bool finish(const packet& what);
    void complete_receive(const packet& what);
    void complete_receive(IB_WC_STATUS status);
    void report(const IB_WC& entry);
    IB_WC completion_of(ULONGLONG wr_id, operation what, ULONG length) const;
    void report_established();
    void report_last();

    // ---- responses
    bool send_read_packet(read_resource& from);
    bool send_atomic(read_resource& from);
    bool send_reply();
    acknowledge_header acknowledgement() const;

    endpoint& shared_;
    receive_queue queue_;
    read_resources resources_;
    early_packets early_;
    receive_request receive_;
    bool has_receive_ = false; // `receive_` is taken from the queue, and not completed
    ULONG named_srq_ = 0;      // of an XRC target: the number that was looked up last
    ULONG receive_srq_ = 0;    // of an XRC target: the queue of `receive_`
    message message_;
    psn expected_;
    ULONG messages_ = 0;    // MSN
    bool nak_sent_ = false; // the expected packet has been requested again
    bool established_ = false;
    bool reported_last_ = false; // IB_AE_LAST_WQE_REACHED
    bool has_unsent_ = false;    // a response has to be sent
    std::optional<reply> reply_; // to be sent, after the responses of reads and atomics
};

inline bool responder::is_idle_at(psn number) const {
    const bool is_open = shared_.receives() && (shared_.state != IB_QPS_RTR || established_);
    // One test of all; operation::reserved is 0.
    const auto under_way = static_cast<UCHAR>(static_cast<UCHAR>(message_.what) | message_.dropped |
                                              has_receive_ | nak_sent_ | has_unsent_);
    return is_open && number == expected_ && under_way == 0;
}

inline void responder::passed_straight(ULONG messages, psn next) {
    expected_ = next;
    messages_ = (messages_ + messages) & psn::mask;
}

inline ULONGLONG responder::finish_receive() {
    if (std::exchange(has_receive_, false)) return receive_.wr_id;
    const ULONGLONG id = queue_.oldest().wr_id;
    queue_.drop_oldest();
    return id;
}

inline bool responder::is_granted(operation what) const {
    const ib_access_t granted = shared_.attr.access_ctrl;
    if (what == operation::write) return (granted & IB_AC_RDMA_WRITE) != 0;
    if (what == operation::atomic_write) return (granted & IB_AC_RDMA_WRITE) != 0;
    if (what == operation::read) return (granted & IB_AC_RDMA_READ) != 0;
    return !is_atomic(what) || (granted & IB_AC_ATOMIC) != 0;
}

inline memory_access& responder::receive_memory() const {
    return shares_receives() ? shared_.shared_receives->memory() : shared_.memory;
}

// The domain of a target's shared receive queue is that of all keys. Source: IBA annex A14.
inline memory_access& responder::remote_memory() const {
    return shared_.is_target() ? shared_.shared_receives->memory() : shared_.memory;
}

inline IB_WC responder::completion_of(ULONGLONG wr_id, operation what, ULONG length) const {
    const IB_WC_OPCODE opcode =
        what == operation::write ? IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE : IB_WC_RECEIVE;
    IB_WC entry = completion_entry(wr_id, opcode, length, shared_.attr.num);
    entry.SourceQp = shared_.attr.dest_num;
    return entry;
}

} // namespace irpverbs::hca_software::transport
