// A send queue: a ring of work requests, sized when the queue pair is created.
#pragma once

#include "scatter_gather.hpp"

#include <memory>

namespace irpverbs::hca_software::transport {

/// True if the peer does not learn of the work request.
inline bool is_local(ib_wr_type_t type) {
    return type == WR_LOCAL_INV || type == WR_BIND_MW || type == WR_FAST_REG_MR || type == WR_NOP;
}

/// A posted work request. The lower members belong to the requester.
struct send_request {
    ULONGLONG wr_id;
    ib_wr_type_t type;
    ib_send_opt_t options;
    ib_net32_t immediate; // or the key to be invalidated
    union {
        ib_send_remote_ops_t remote;
        window_binding binding;         // of WR_BIND_MW
        page_registration registration; // of WR_FAST_REG_MR
    };
    ULONG remote_srq; // of an XRC initiator
    bool has_way;     // of a datagram, as the next three
    ib_av_attr_t to;
    ib_qpn_t to_qp;
    ib_qkey_t to_qkey;
    ULONG segment_count; // 0 if its data are inline
    ULONGLONG length;    // bytes

    bool started;
    psn first_number; // of its packets, and of the responses to a read
    psn last_number;
    ULONG sequence; // SSN, 24 bits

    ULONG invalidated_rkey() const { return immediate; }
    bool is_option(ib_send_opt_t which) const { return (options & which) != 0; }
    bool is_atomic() const { return type == WR_COMPARE_SWAP || type == WR_FETCH_ADD; }
    /// An atomic write has no data segments, and a response without data.
    bool is_atomic_write() const { return type == WR_ATOMIC_WRITE; }
    /// The peer responds to it, and remembers the response.
    bool is_read_or_atomic() const {
        return type == WR_RDMA_READ || is_atomic() || is_atomic_write();
    }
    bool has_packets() const { return !is_local(type); }
    /// True if the peer consumes a receive for it.
    bool needs_receive() const {
        return type == WR_SEND || (type == WR_RDMA_WRITE && is_option(IB_SEND_OPT_IMMEDIATE));
    }
};

/// Requests have running numbers; one stays in its place until it is completed.
class send_queue {
public:
    /// False: no memory, or more segments than max_pieces.
    bool allocate(const ib_qp_attr_t& sizes);

    /// Posts one work request of a type that the queue pair has. STATUS_INVALID_PARAMETER: too many
    /// segments or inline bytes. STATUS_INSUFFICIENT_RESOURCES: the queue is full.
    NTSTATUS post(const ib_send_wr_t& what);
    /// The newest request, which has just been posted.
    send_request& newest() { return (*this)[end_ - 1]; }

    ULONG oldest() const { return oldest_; }
    ULONG end() const { return end_; }
    bool is_empty() const { return oldest_ == end_; }
    send_request& operator[](ULONG number) { return requests_[number & mask_]; }
    const send_request& operator[](ULONG number) const { return requests_[number & mask_]; }
    void complete_oldest() { ++oldest_; }
    void clear() { oldest_ = end_; }

    segments segments_of(ULONG number) const {
        return {&segments_[std::size_t{number & mask_} * max_segments_],
                requests_[number & mask_].segment_count};
    }
    UCHAR* inline_bytes(ULONG number) const {
        return &inline_[std::size_t{number & mask_} * max_inline_];
    }

private:
    std::unique_ptr<send_request[]> requests_;
    std::unique_ptr<ib_local_ds_t[]> segments_;
    std::unique_ptr<UCHAR[]> inline_;
    ULONG depth_ = 0;
    ULONG mask_ = 0;
    ULONG max_segments_ = 0;
    ULONG max_inline_ = 0;
    ULONG oldest_ = 0; // not completed
    ULONG end_ = 0;    // the number of the next one
};

} // namespace irpverbs::hca_software::transport
