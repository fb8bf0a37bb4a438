#include "send_queue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace irpverbs::hca_software::transport {

bool send_queue::allocate(const ib_qp_attr_t& sizes) {
    depth_ = sizes.sq_depth;
    max_segments_ = std::max(sizes.sq_sge, ULONG{1});
    max_inline_ = std::max(sizes.sq_max_inline, ULONG{1});
    const std::size_t slots = std::bit_ceil(std::size_t{std::max(depth_, ULONG{1})});
    mask_ = static_cast<ULONG>(slots - 1);
    requests_.reset(new (std::nothrow) send_request[slots]);
    segments_.reset(new (std::nothrow) ib_local_ds_t[slots * max_segments_]);
    inline_.reset(new (std::nothrow) UCHAR[slots * max_inline_]);
    return requests_ != nullptr && segments_ != nullptr && inline_ != nullptr &&
           max_segments_ <= max_pieces;
}

NTSTATUS send_queue::post(const ib_send_wr_t& what) {
    const segments list =
        is_local(what.wr_type) ? segments{} : segments{what.ds_array, what.num_ds};
    if (list.size() > max_segments_) return STATUS_INVALID_PARAMETER;
    const ULONGLONG length = total_length(list);
    const bool is_inline = (what.send_opt & IB_SEND_OPT_INLINE) != 0;
    if (is_inline && length > max_inline_) return STATUS_INVALID_PARAMETER;
    if (end_ - oldest_ >= depth_) return STATUS_INSUFFICIENT_RESOURCES;

    send_request& made = (*this)[end_];
    made.wr_id = what.wr_id;
    made.type = what.wr_type;
    made.options = what.send_opt;
    made.immediate = what.immediate_data;
    made.started = false;
    made.length = length;
    made.segment_count = is_inline ? 0 : static_cast<ULONG>(list.size());
    if (!is_inline) std::ranges::copy(list, &segments_[std::size_t{end_ & mask_} * max_segments_]);
    UCHAR* next = inline_bytes(end_);
    for (const ib_local_ds_t& each : is_inline ? list : segments{}) {
        if (each.length == 0) continue;
        // Inline data need no key: their addresses are the caller's.
        std::memcpy(next, reinterpret_cast<const void*>(each.vaddr), each.length);
        next += each.length;
    }
    ++end_;
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software::transport
