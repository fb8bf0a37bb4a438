#include <rmpp/sink.hpp>

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace irpverbs::ibmf::rmpp {

// The maximum memory that an announcement reserves.
constexpr std::size_t max_reserved_ahead = std::size_t{1} << 20;

bool message_buffer::begin(const mad_view& first, std::uint64_t announced) {
    size_ = headers_read_ = data_begin_ = class_header_size_ = 0;
    const std::size_t headers = mad_header_size + first.class_header().size();
    const auto ahead =
        std::min<std::uint64_t>(std::max<std::uint64_t>(announced, mad_size), max_reserved_ahead);
    if (!reserve(headers + static_cast<std::size_t>(ahead))) return false;
    append_bytes(first.bytes().first<mad_header_size>());
    append_bytes(first.class_header());
    class_header_size_ = first.class_header().size();
    data_begin_ = size_;
    return true;
}

bool message_buffer::append(mad_bytes data) {
    // The gap is at least as large as the data that move into it, so no byte moves twice.
    if (capacity_ - size_ < data.size() && data_begin_ - headers_size() >= this->data().size())
        compact();
    if (capacity_ - size_ < data.size() && !reserve(2 * capacity_ + data.size())) return false;
    append_bytes(data);
    return true;
}

std::size_t message_buffer::read(std::span<std::uint8_t> to) {
    const std::size_t first = std::min(headers_size() - headers_read_, to.size());
    if (first != 0) std::memcpy(to.data(), block_.get() + headers_read_, first);
    headers_read_ += first;
    const mad_bytes rest = data().first(std::min(data().size(), to.size() - first));
    if (rest.empty()) return first;
    std::memcpy(to.data() + first, rest.data(), rest.size());
    data_begin_ += rest.size();
    if (data().empty()) size_ = data_begin_ = headers_size();
    return first + rest.size();
}

mad_bytes message_buffer::bytes() {
    compact();
    return {block_.get(), size_};
}

message_buffer::block message_buffer::detach() {
    compact();
    size_ = headers_read_ = data_begin_ = capacity_ = class_header_size_ = 0;
    return std::move(block_);
}

void message_buffer::reuse(block used, std::size_t capacity) {
    block_ = std::move(used);
    capacity_ = capacity;
}

void message_buffer::compact() {
    const std::size_t gap = data_begin_ - headers_size();
    if (gap == 0) return;
    std::memmove(block_.get() + headers_size(), data().data(), data().size());
    size_ -= gap;
    data_begin_ -= gap;
}

// For large blocks realloc moves pages instead of bytes.
bool message_buffer::reserve(std::size_t capacity) {
    if (capacity <= capacity_) return true;
    if (dispatch::detail::fault_point("ibmf.message_buffer")) return false;
    auto* const larger = static_cast<std::uint8_t*>(std::realloc(block_.get(), capacity));
    if (larger == nullptr) return false;
    static_cast<void>(block_.release());
    block_.reset(larger);
    capacity_ = capacity;
    return true;
}

void message_buffer::append_bytes(mad_bytes bytes) {
    if (bytes.empty()) return;
    std::memcpy(block_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
}

} // namespace irpverbs::ibmf::rmpp
