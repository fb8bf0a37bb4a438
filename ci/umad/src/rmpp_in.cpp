#include "rmpp_in.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::umad {
namespace {

mad reply_to(const std::uint8_t* m) {
    mad reply{};
    std::memcpy(reply.data(), m, data_offset(class_of(m)));
    reply[3] ^= 0x80;
    reply[26] &= 0xf8;
    return reply;
}

} // namespace

void rmpp_in::abort(const std::uint8_t* any_segment, rmpp::code why) {
    failed_ = true;
    mad ending = reply_to(any_segment);
    rmpp::set(ending.data(), rmpp::abort, 0, why, 0, 0);
    emit_(ending);
}

void rmpp_in::acknowledge(const std::uint8_t* m) {
    mad response = reply_to(m);
    rmpp::set(response.data(), rmpp::ack, 0, 0, in_order_, window_);
    emit_(response);
}

std::optional<rmpp::code> rmpp_in::wrong(const std::uint8_t* m) const {
    if (rmpp::version(m) != 1) return rmpp::bad_version;
    if (rmpp::status(m) != 0) return rmpp::bad_status;
    const bool is_first = (rmpp::flags(m) & rmpp::first) != 0;
    if (is_first != (rmpp::segment(m) == 1)) return rmpp::bad_first;
    if ((rmpp::flags(m) & rmpp::last) != 0) {
        const std::size_t class_header = data_offset(class_of(m)) - rmpp_body;
        const std::uint32_t payload = rmpp::payload_or_window(m);
        if (payload > rmpp_room || payload < class_header) return rmpp::bad_length;
    }
    return std::nullopt;
}

void rmpp_in::keep(const std::uint8_t* m, std::uint32_t number) {
    const std::size_t head = data_offset(class_of(m));
    std::size_t size = mad_size - head;
    if ((rmpp::flags(m) & rmpp::last) != 0) {
        size = rmpp::payload_or_window(m) - (head - rmpp_body);
        last_ = number;
    }
    if (number == 1) head_.assign(m, m + head);
    segments_.emplace(number, std::vector(m + head, m + head + size));
}

std::vector<std::uint8_t> rmpp_in::assembled() const {
    std::vector<std::uint8_t> whole = head_;
    for (const auto& [number, bytes] : segments_)
        whole.insert(whole.end(), bytes.begin(), bytes.end());
    return whole;
}

std::optional<std::vector<std::uint8_t>> rmpp_in::data(const std::uint8_t* m) {
    if (const auto code = wrong(m)) {
        abort(m, *code);
        return std::nullopt;
    }
    const std::uint32_t number = rmpp::segment(m);
    if (complete_ || number <= in_order_) {
        acknowledge(m);
        return std::nullopt;
    }
    if (number > window_) return std::nullopt;
    keep(m, number);
    while (segments_.contains(in_order_ + 1))
        ++in_order_;
    if (last_ != 0 && in_order_ == last_) {
        complete_ = true;
        acknowledge(m);
        auto whole = assembled();
        segments_.clear();
        return whole;
    }
    if (in_order_ == window_ || in_order_ == 1) {
        window_ = in_order_ + window_size_;
        acknowledge(m);
    }
    return std::nullopt;
}

} // namespace irpverbs::umad
