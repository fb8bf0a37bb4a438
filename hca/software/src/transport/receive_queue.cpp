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
