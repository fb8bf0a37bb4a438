#include <rmpp/early_segments.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf::rmpp {

early_segments::put_result early_segments::put(std::uint64_t segment, mad_bytes data) {
    if (!slots_) slots_.reset(new (std::nothrow) slot[capacity_]{});
    if (!slots_) return put_result::no_memory;
    slot& place = slot_of(segment);
    if (place.segment == segment) return put_result::there_already;
    place.segment = segment;
    place.size = data.size();
    std::ranges::copy(data, place.data.begin());
    return put_result::kept;
}

std::optional<mad_bytes> early_segments::find(std::uint64_t segment) const {
    if (!slots_ || slot_of(segment).segment != segment) return std::nullopt;
    const slot& place = slot_of(segment);
    return mad_bytes(place.data).first(place.size);
}

void early_segments::drop(std::uint64_t segment) {
    if (slots_ && slot_of(segment).segment == segment) slot_of(segment).segment = 0;
}

} // namespace irpverbs::ibmf::rmpp
