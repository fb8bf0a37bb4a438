// Work requests that pass straight through: executed on both ends of a connection at once.
#pragma once

#include "queue_pair.hpp"

namespace irpverbs::hca_software::transport {

/// The packets that work requests would have been, in words of 4 bytes from the base transport
/// header up to the payload's end.
struct straight_traffic {
    ULONGLONG requests = 0;
    ULONGLONG request_words = 0;
    ULONGLONG responses = 0;
    ULONGLONG response_words = 0;
};

/// Executes what succeeds, and nothing else: all other work requests are posted, so packets alone
/// decide on errors, waits and retries. The caller holds the locks of the one's requester and of
/// the other's responder.
class straight_through {
public:
    /// `connects(from, to)` is true.
    straight_through(queue_pair& from, queue_pair& to)
        : from_(from.requester_), to_(to.responder_),
          mtu_bits_(std::countr_zero(from.shared_.mtu())) {}

    /// True if both belong to the same connection, and have the same path MTU: a difference is an
    /// error that packets report. The ends of an XRC connection have different types: it has
    /// packets only.
    static bool connects(const queue_pair& from, const queue_pair& to);

    /// Executes and completes the first work requests of a list, as if their packets and responses
    /// had passed without loss, and returns the rest. The first one that is returned has changed no
    /// state; payload may have been copied, as its packets will again.
    ib_send_wr_t* pass(ib_send_wr_t* list);
    const straight_traffic& traffic() const { return traffic_; }

private:
    bool execute(const ib_send_wr_t& what);
    bool has_room(const ib_send_wr_t& what, ULONGLONG length) const;
    bool move(const ib_send_wr_t& what, ULONG length);
    bool gather_local(const ib_send_wr_t& what, ULONG length, payload& content) const;
    const UCHAR* only_source(const ib_send_wr_t& what) const;
    bool copy_to_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_to_shared_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_to_region(const ib_send_wr_t& what, ULONG length);
    bool copy(const ib_send_wr_t& what, ULONG length);
    bool send(const ib_send_wr_t& what, ULONG length);
    bool send_key(const ib_send_wr_t& what, ULONG length);
    bool write(const ib_send_wr_t& what, ULONG length);
    bool read(const ib_send_wr_t& what, ULONG length);
    bool reads() const;
    bool execute_atomic(const ib_send_wr_t& what);
    ULONG packets_of(ULONG length) const;
    void count_message(const ib_send_wr_t& what, ULONG length, ULONGLONG header_words);
    void count_read(ULONG length);
    void count_atomic();

    requester& from_;
    responder& to_;
    const int mtu_bits_;
    ULONG packets_ = 0; // packet numbers used
    ULONG messages_ = 0;
    straight_traffic traffic_;
};

} // namespace irpverbs::hca_software::transport
