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
    const bool has_segments = max_segments_ > 1;
    if (has_segments) segments_.reset(new (std::nothrow) ib_local_ds_t[count * max_segments_]);
    return slots_ != nullptr && (segments_ != nullptr || !has_segments) &&
           max_segments_ <= max_pieces;
}

bool receive_queue::resize(ULONG depth) {
    receive_queue made;
    if (!made.allocate(depth, max_segments_)) return false;
    for (; count() != 0; drop_oldest())
        made.add(oldest().wr_id, oldest_segments());
    *this = std::move(made);
    return true;
}

bool receive_queue::take(receive_request& to) {
    if (count() == 0) return false;
    const segments list = oldest_segments();
    to.wr_id = oldest().wr_id;
    to.segment_count = static_cast<ULONG>(list.size());
    std::ranges::copy(list, to.segment.begin());
    to.length = total_length(list);
    drop_oldest();
    return true;
}

} // namespace irpverbs::hca_software::transport
