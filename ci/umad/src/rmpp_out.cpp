#include "rmpp_out.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace irpverbs::umad {
rmpp_out::rmpp_out(std::span<const std::uint8_t> message, int timeout_ms, int longest_wait_ms,
                   int retries, emit out)
    : message_(message.begin(), message.end()), head_(data_offset(class_of(message.data()))),
      room_(mad_size - head_),
      segments_(static_cast<std::uint32_t>((message.size() - head_ + room_ - 1) / room_)),
      timeout_ms_(timeout_ms), longest_wait_ms_(longest_wait_ms), retries_(retries), left_(retries),
      emit_(std::move(out)) {
    segments_ = std::max(segments_, 1u);
}

int rmpp_out::max_wait_ms() const {
    return timeout_ms_ != 0 ? std::min(timeout_ms_, longest_wait_ms_) : longest_wait_ms_;
}

void rmpp_out::send_segment(std::uint32_t number) {
    mad segment{};
    const std::size_t data = message_.size() - head_;
    const std::size_t from = room_ * (number - 1);
    const std::size_t size = std::min(room_, data - std::min(data, from));
    std::memcpy(segment.data(), message_.data(), head_);
    std::memcpy(segment.data() + head_, message_.data() + head_ + from, size);
    std::uint8_t flags = 0;
    std::size_t payload = 0;
    const std::size_t padding = room_ * segments_ - data;
    if (number == 1) {
        flags |= rmpp::first;
        payload = segments_ * rmpp_room - padding;
    }
    if (number == segments_) {
        flags |= rmpp::last;
        payload = rmpp_room - padding;
    }
    segment[26] &= 0xf8;
    rmpp::set(segment.data(), rmpp::data, flags, 0, number, static_cast<std::uint32_t>(payload));
    emit_(segment);
}

void rmpp_out::send_window() {
    while (sent_ < std::min(segments_, window_))
        send_segment(++sent_);
}

void rmpp_out::send_abort(rmpp::code why) {
    mad ending{};
    std::memcpy(ending.data(), message_.data(), mad_header);
    rmpp::set(ending.data(), rmpp::abort, 0, why, 0, 0);
    emit_(ending);
}

rmpp_out::state rmpp_out::control(const std::uint8_t* m) {
    if (rmpp::type_of(m) != rmpp::ack) return state::ended_by_peer;
    const std::uint32_t segment = rmpp::segment(m);
    const std::uint32_t window = rmpp::payload_or_window(m);
    if (segment > sent_) {
        send_abort(rmpp::segment_too_big);
        return state::ended_by_peer;
    }
    if (window < segment || window < window_) {
        if (window < segment) send_abort(rmpp::window_too_small);
        return window < segment ? state::ended_by_peer : state::going;
    }
    if (segment > acknowledged_) {
        acknowledged_ = segment;
        left_ = retries_;
    }
    window_ = window;
    if (acknowledged_ == segments_) return state::acknowledged;
    send_window();
    return state::going;
}

rmpp_out::state rmpp_out::expired() {
    if (left_-- <= 0) {
        send_abort(rmpp::too_many_retries);
        return state::out_of_retries;
    }
    sent_ = acknowledged_;
    send_window();
    return state::going;
}

} // namespace irpverbs::umad
