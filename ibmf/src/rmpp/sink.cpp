#include <rmpp/sink.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace irpverbs::ibmf::rmpp {

// A stranger's word is good for this much memory.
constexpr std::size_t most_reserved_ahead = std::size_t{1} << 20;

bool message_buffer::begin(const mad_view& first, std::uint64_t announced) {
    size_ = headers_read_ = 0;
    class_header_size_ = first.class_header().size();
    const std::size_t headers = mad_header_size + class_header_size_;
    const auto ahead =
        std::min<std::uint64_t>(std::max<std::uint64_t>(announced, mad_size), most_reserved_ahead);
    if (!reserve(headers + static_cast<std::size_t>(ahead))) return false;
    put(first.bytes().first<mad_header_size>());
    put(first.class_header());
    return true;
}

bool message_buffer::append(mad_bytes data) {
    if (capacity_ - size_ < data.size() && !reserve(2 * capacity_ + data.size())) return false;
    put(data);
    return true;
}

std::size_t message_buffer::read(std::span<std::uint8_t> to) {
    const std::size_t headers = std::min(size_, mad_header_size + class_header_size_);
    const std::size_t first = std::min(headers - headers_read_, to.size());
    if (first != 0) std::memcpy(to.data(), block_.get() + headers_read_, first);
    headers_read_ += first;
    const std::size_t rest = std::min(size_ - headers, to.size() - first);
    if (rest == 0) return first;
    std::memcpy(to.data() + first, block_.get() + headers, rest);
    size_ -= rest;
    std::memmove(block_.get() + headers, block_.get() + headers + rest, size_ - headers);
    return first + rest;
}

message_buffer::block message_buffer::take() {
    size_ = headers_read_ = capacity_ = class_header_size_ = 0;
    return std::move(block_);
}

// realloc moves pages, not bytes, where a copy would cost.
bool message_buffer::reserve(std::size_t capacity) {
    if (capacity <= capacity_) return true;
    auto* const larger = static_cast<std::uint8_t*>(std::realloc(block_.get(), capacity));
    if (larger == nullptr) return false;
    static_cast<void>(block_.release());
    block_.reset(larger);
    capacity_ = capacity;
    return true;
}

void message_buffer::put(mad_bytes bytes) {
    if (bytes.empty()) return;
    std::memcpy(block_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
}

} // namespace irpverbs::ibmf::rmpp
