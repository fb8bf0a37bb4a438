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
        : from_(from.requester_), to_(to.responder_) {}

    /// True if both belong to the same connection, and have the same path MTU: a difference is an
    /// error that packets report.
    static bool connects(const queue_pair& from, const queue_pair& to);

    /// Executes and completes a work request of the one, as if its packets and their responses had
    /// passed without loss. False: it must be posted. No state has changed then; payload may have
    /// been copied, as its packets will again.
    bool execute(const ib_send_wr_t& what);
    const straight_traffic& traffic() const { return traffic_; }

private:
    bool has_room(const ib_send_wr_t& what, ULONGLONG length) const;
    bool move(const ib_send_wr_t& what, ULONG length);
    bool gather_local(const ib_send_wr_t& what, ULONG length, payload& content) const;
    const UCHAR* only_source(const ib_send_wr_t& what) const;
    bool copy_to_receive(const ib_send_wr_t& what, ULONG length);
    bool copy_to_region(const ib_send_wr_t& what, ULONG length);
    bool send(const ib_send_wr_t& what, ULONG length);
    bool write(const ib_send_wr_t& what, ULONG length);
    bool read(const ib_send_wr_t& what, ULONG length);
    bool execute_atomic(const ib_send_wr_t& what);
    void count(const ib_send_wr_t& what, ULONG length, ULONG packets);

    requester& from_;
    responder& to_;
    straight_traffic traffic_;
};

} // namespace irpverbs::hca_software::transport
