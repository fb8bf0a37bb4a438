#include "receive_queue.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace irpverbs::hca_software::transport {

bool receive_queue::allocate(const ib_qp_attr_t& sizes) {
    depth_ = sizes.rq_depth;
    max_segments_ = std::max(sizes.rq_sge, ULONG{1});
    const std::size_t count = std::bit_ceil(std::size_t{std::max(depth_, ULONG{1})});
    mask_ = static_cast<ULONG>(count - 1);
    slots_.reset(new (std::nothrow) slot[count]);
    segments_.reset(new (std::nothrow) ib_local_ds_t[count * max_segments_]);
    return slots_ != nullptr && segments_ != nullptr && max_segments_ <= max_pieces;
}

NTSTATUS receive_queue::post(const ib_recv_wr_t& what) {
    if (what.num_ds > max_segments_) return STATUS_INVALID_PARAMETER;
    if (count() >= depth_) return STATUS_INSUFFICIENT_RESOURCES;
    const ULONG at = end_ & mask_;
    slots_[at] = {what.wr_id, what.num_ds};
    std::copy_n(what.ds_array, what.num_ds, &segments_[std::size_t{at} * max_segments_]);
    ++end_;
    return STATUS_SUCCESS;
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
