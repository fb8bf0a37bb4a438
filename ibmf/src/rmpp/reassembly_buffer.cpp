#include <rmpp/reassembly_buffer.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::ibmf::rmpp {

reassembly_buffer::insert_result reassembly_buffer::insert(std::uint64_t segment, mad_bytes data) {
    if (!slots_) slots_.reset(new (std::nothrow) slot[capacity_]{});
    if (!slots_) return insert_result::no_memory;
    slot& entry = slot_of(segment);
    if (entry.segment == segment) return insert_result::duplicate;
    entry.segment = segment;
    entry.size = data.size();
    std::ranges::copy(data, entry.data.begin());
    return insert_result::inserted;
}

std::optional<mad_bytes> reassembly_buffer::find(std::uint64_t segment) const {
    if (!slots_ || slot_of(segment).segment != segment) return std::nullopt;
    const slot& entry = slot_of(segment);
    return mad_bytes(entry.data).first(entry.size);
}

void reassembly_buffer::remove(std::uint64_t segment) {
    if (slots_ && slot_of(segment).segment == segment) slot_of(segment).segment = 0;
}

} // namespace irpverbs::ibmf::rmpp
