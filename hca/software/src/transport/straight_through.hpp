// Work requests that pass straight through: executed on both ends of a connection at once.
#pragma once

#include "queue_pair.hpp"

#include <atomic>

namespace irpverbs::hca_software::transport {

/// The packets that work requests would have been, in words of 4 bytes from the base transport
/// header up to the payload's end.
struct straight_traffic {
    ULONGLONG requests = 0;
    ULONGLONG request_words = 0;
    ULONGLONG responses = 0;
    ULONGLONG response_words = 0;
};

/// The packets that were spared so far. One thread at a time adds, others may read.
class straight_totals {
public:
    void add_requests(ULONGLONG packets, ULONGLONG words) {
        add(requests_, packets);
        add(request_words_, words);
    }
    void add_responses(ULONGLONG packets, ULONGLONG words) {
        add(responses_, packets);
        add(response_words_, words);
    }
    straight_traffic read() const {
        constexpr auto relaxed = std::memory_order_relaxed;
        return {requests_.load(relaxed), request_words_.load(relaxed), responses_.load(relaxed),
                response_words_.load(relaxed)};
    }

private:
    static void add(std::atomic<ULONGLONG>& to, ULONGLONG what) {
        to.store(to.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
    }

    std::atomic<ULONGLONG> requests_{0};
    std::atomic<ULONGLONG> request_words_{0};
    std::atomic<ULONGLONG> responses_{0};
    std::atomic<ULONGLONG> response_words_{0};
};

/// Executes what succeeds, and nothing else: all other work requests are posted, so packets alone
/// decide on errors, waits and retries. Made anew after a change of the attributes of either queue
/// pair, which it has examined. The caller holds the locks of the one's requester and of the
/// other's responder.
class straight_through {
public:
    /// `connects(from, to)` is true. All three outlive it.
    straight_through(queue_pair& from, queue_pair& to, straight_totals& totals)
        : from_(from.requester_), to_(to.responder_), memory_(from.shared_.memory),
          remote_memory_(to.shared_.memory), totals_(totals), attr_(from.shared_.attr),
          mtu_bits_(std::countr_zero(from.shared_.mtu())), max_segments_(attr_.sq_sge),
          max_inline_(attr_.sq_max_inline), has_queue_(attr_.sq_depth != 0),
          signals_all_(attr_.sq_signaled != FALSE), may_write_(to_.is_granted(operation::write)),
          is_acknowledged_(attr_.qp_type == IB_QPT_RELIABLE_CONN) {} // XRC has packets only

    /// True if both belong to the same connection, and have the same path MTU: a difference is an
    /// error that packets report. The ends of an XRC connection have different types: it has
    /// packets only.
    static bool connects(const queue_pair& from, const queue_pair& to);

    /// Executes and completes the first work requests of a list, as if their packets and responses
    /// had passed without loss, and returns the rest. The first one that is returned has changed no
    /// state; payload may have been copied, as its packets will again.
    ib_send_wr_t* pass(ib_send_wr_t* list);

private:
    bool execute(const ib_send_wr_t& what);
    bool has_room(const ib_send_wr_t& what, ULONGLONG length) const;
    bool move(const ib_send_wr_t& what, ULONG length);
    bool gather_local(const ib_send_wr_t& what, ULONG length, payload& content) const;
    const UCHAR* only_source(const ib_send_wr_t& what) const;
    bool copy_to_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_pieces_to_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_to_shared_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_to_region(const ib_send_wr_t& what, ULONG length);
    bool copy_pieces_to(UCHAR* at, const ib_send_wr_t& what, ULONG length);
    bool copy(const ib_send_wr_t& what, ULONG length);
    bool send(const ib_send_wr_t& what, ULONG length);
    bool send_key(const ib_send_wr_t& what, ULONG length);
    bool write(const ib_send_wr_t& what, ULONG length);
    bool write_immediate(const ib_send_wr_t& what, ULONG length);
    bool read(const ib_send_wr_t& what, ULONG length);
    bool reads() const;
    bool execute_atomic(const ib_send_wr_t& what);
    bool write_word(const ib_send_wr_t& what);
    ULONG packets_of(ULONG length) const;
    void count_message(ULONG length, ULONGLONG header_words);
    void count_read(ULONG length);
    void count_atomic();
    void count_atomic_write();
    void finish();

    /// Counts of one list.
    struct passed {
        ULONG numbers = 0; // of packets
        ULONG messages = 0;
        ULONGLONG more_responses = 0; // of reads: those behind the first of each
        ULONGLONG words = 0;          // of requests, without their base headers
        ULONGLONG result_words = 0;   // of responses, without those and one acknowledgement each
    };

    requester& from_;
    responder& to_;
    memory_access& memory_;
    memory_access& remote_memory_;
    straight_totals& totals_;
    const ib_qp_attr_t& attr_; // of the requester's queue pair
    const int mtu_bits_;
    const ULONG max_segments_;
    const ULONG max_inline_; // bytes
    const bool has_queue_;
    const bool signals_all_;
    const bool may_write_;
    const bool is_acknowledged_;
    passed passed_;
};

} // namespace irpverbs::hca_software::transport
