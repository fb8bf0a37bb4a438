// A receive queue: a ring of work requests, sized when the queue pair is created.
#pragma once

#include "scatter_gather.hpp"

#include <algorithm>
#include <memory>

namespace irpverbs::hca_software::transport {

/// A receive that a message has taken from the queue.
struct receive_request {
    ULONGLONG wr_id = 0;
    ULONG segment_count = 0;
    ULONGLONG length = 0; // bytes
    std::array<ib_local_ds_t, max_pieces> segment;

    segments list() const { return {segment.data(), segment_count}; }
};

class receive_queue {
public:
    /// False: no memory, or more segments than max_pieces.
    bool allocate(ULONG depth, ULONG max_segments);
    /// Changes the depth, which is at least count(). False: no memory; nothing changed.
    bool resize(ULONG depth);

    /// Posts a list, as CiPostRecv does. STATUS_INVALID_PARAMETER: too many segments.
    /// STATUS_INSUFFICIENT_RESOURCES: the queue is full.
    NTSTATUS post(ib_recv_wr_t* list, ib_recv_wr_t** failed);

    /// Takes the oldest receive. False: there is none.
    bool take(receive_request& to);
    /// A posted receive.
    struct slot {
        ULONGLONG wr_id;
        ULONG segment_count;
        ib_local_ds_t only; // of one segment
    };
    /// The oldest receive; there is one. `drop_oldest` removes it.
    const slot& oldest() const { return slots_[oldest_ & mask_]; }
    segments oldest_segments() const {
        const slot& from = oldest();
        if (from.segment_count <= 1) return {&from.only, from.segment_count};
        return {segments_at(oldest_ & mask_), from.segment_count};
    }
    void drop_oldest() { ++oldest_; }
    ULONG count() const { return end_ - oldest_; }
    ULONG depth() const { return depth_; }
    void clear() { oldest_ = end_; }

private:
    NTSTATUS post(const ib_recv_wr_t& what);
    void add(ULONGLONG wr_id, segments list);
    ib_local_ds_t* segments_at(ULONG place) const {
        return &segments_[std::size_t{place} * max_segments_];
    }

    std::unique_ptr<slot[]> slots_;
    std::unique_ptr<ib_local_ds_t[]> segments_; // of receives that have several
    ULONG depth_ = 0;
    ULONG mask_ = 0;
    ULONG max_segments_ = 0;
    ULONG oldest_ = 0;
    ULONG end_ = 0;
};

inline NTSTATUS receive_queue::post(const ib_recv_wr_t& what) {
    if (what.num_ds > max_segments_) return STATUS_INVALID_PARAMETER;
    if (count() >= depth_) return STATUS_INSUFFICIENT_RESOURCES;
    add(what.wr_id, {what.ds_array, what.num_ds});
    return STATUS_SUCCESS;
}

inline void receive_queue::add(ULONGLONG wr_id, segments list) {
    slot& to = slots_[end_ & mask_];
    to.wr_id = wr_id;
    to.segment_count = static_cast<ULONG>(list.size());
    if (list.size() == 1) [[likely]]
        to.only = list.front();
    else if (!list.empty())
        std::ranges::copy(list, segments_at(end_ & mask_));
    ++end_;
}

inline NTSTATUS receive_queue::post(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    NTSTATUS status = STATUS_SUCCESS;
    while (list != nullptr && NT_SUCCESS(status = post(*list)))
        list = list->p_next;
    if (!NT_SUCCESS(status)) *failed = list;
    return status;
}

} // namespace irpverbs::hca_software::transport
