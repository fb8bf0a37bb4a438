#include "receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace irpverbs::hca_software::transport {

bool receive_queue::allocate(ULONG depth, ULONG max_segments) {
    depth_ = depth;
    max_segments_ = std::max(max_segments, ULONG{1});
    const std::size_t count = std::bit_ceil(std::size_t{std::max(depth_, ULONG{1})});
    mask_ = static_cast<ULONG>(count - 1);
    slots_.reset(new (std::nothrow) slot[count]);
    segments_.reset(new (std::nothrow) ib_local_ds_t[count * max_segments_]);
    return slots_ != nullptr && segments_ != nullptr && max_segments_ <= max_pieces;
}

bool receive_queue::resize(ULONG depth) {
    receive_queue made;
    if (!made.allocate(depth, max_segments_)) return false;
    for (; count() != 0; drop_oldest()) {
        const segments list = oldest_segments();
        std::ranges::copy(list, &made.segments_[std::size_t{made.end_} * max_segments_]);
        made.slots_[made.end_++] = {oldest_id(), static_cast<ULONG>(list.size())};
    }
    *this = std::move(made);
    return true;
}

inline NTSTATUS receive_queue::post(const ib_recv_wr_t& what) {
    if (what.num_ds > max_segments_) return STATUS_INVALID_PARAMETER;
    if (count() >= depth_) return STATUS_INSUFFICIENT_RESOURCES;
    const ULONG at = end_ & mask_;
    slots_[at] = {what.wr_id, what.num_ds};
    std::copy_n(what.ds_array, what.num_ds, &segments_[std::size_t{at} * max_segments_]);
    ++end_;
    return STATUS_SUCCESS;
}

NTSTATUS receive_queue::post(ib_recv_wr_t* list, ib_recv_wr_t** failed) {
    NTSTATUS status = STATUS_SUCCESS;
    while (list != nullptr && NT_SUCCESS(status = post(*list)))
        list = list->p_next;
    if (!NT_SUCCESS(status)) *failed = list;
    return status;
}

bool receive_queue::take(receive_request& to) {
    if (count() == 0) return false;
    const ULONG at = oldest_ & mask_;
    to.wr_id = slots_[at].wr_id;
    to.segment_count = slots_[at].segment_count;
    std::copy_n(&segments_[std::size_t{at} * max_segments_], to.segment_count, to.segment.begin());
    to.length = total_length(to.list());
    ++oldest_;
    return true;
}

} // namespace irpverbs::hca_software::transport
