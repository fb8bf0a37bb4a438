// An RMPP of the simplest kind, as a peer other than our own: it sends a window and waits, returns
// to the first unacknowledged segment on a timeout, keeps no early segment, and acknowledges only
// the end of a window. Lengths are as a Linux kernel writes them.
#pragma once

#include "rmpp_scripts.hpp"

namespace irpverbs::ibmf::rmpp::testing {

class plain_sender {
public:
    explicit plain_sender(const rmpp_message& sent, std::uint32_t retries)
        : message_(sent), retries_(retries), left_(retries) {
        const std::size_t each = sent.segment_data();
        total_ = static_cast<std::uint32_t>(
            std::max<std::size_t>(1, (sent.data.size() + each - 1) / each));
    }
    bool transmit(mad_buffer to, ticks now) {
        if (done() || failed || next_ > std::min(window_, total_)) return false;
        std::ranges::copy(data_packet(message_, next_++), to.begin());
        deadline_ = now + 2 * second;
        return true;
    }
    void receive(const mad_view& view, ticks) {
        const rmpp_header header = view.rmpp();
        if (header.type == rmpp_type::stop || header.type == rmpp_type::abort) failed = true;
        if (header.type != rmpp_type::ack || header.segment < acked_) return;
        if (header.segment > acked_) left_ = retries_;
        acked_ = header.segment;
        window_ = header.length_or_window;
        next_ = std::max(next_, acked_ + 1);
    }
    ticks deadline() const { return done() || failed ? never : deadline_; }
    void expire(ticks now) {
        if (now < deadline()) return;
        if (left_-- == 0) failed = true;
        next_ = acked_ + 1;
        deadline_ = now + 2 * second;
    }
    bool done() const { return acked_ >= total_; }
    bool failed = false;

private:
    const rmpp_message& message_;
    std::uint32_t total_;
    std::uint32_t retries_;
    std::uint32_t left_;
    std::uint32_t next_ = 1;
    std::uint32_t acked_ = 0;
    std::uint32_t window_ = 1;
    ticks deadline_ = never;
};

class plain_receiver {
public:
    explicit plain_receiver(std::uint32_t window) : size_(window) {}

    bool transmit(mad_buffer to, ticks) {
        if (!response_) return false;
        std::ranges::copy(*response_, to.begin());
        response_.reset();
        return true;
    }
    void receive(const mad_view& view, ticks) {
        const rmpp_header header = view.rmpp();
        if (header.type == rmpp_type::stop || header.type == rmpp_type::abort) failed = true;
        if (header.type != rmpp_type::data) return;
        if (header.segment != expected_) {
            if (expected_ > 1) acknowledge(view);
            return;
        }
        const std::size_t class_header = view.class_header().size();
        const mad_bytes taken =
            header.last() ? view.data().first(header.length_or_window - class_header) : view.data();
        data.insert(data.end(), taken.begin(), taken.end());
        ++expected_;
        done = header.last();
        if (done || header.segment == window_last_) acknowledge(view);
    }
    ticks deadline() const { return never; }
    void expire(ticks) {}

    bool done = false;
    bool failed = false;
    std::vector<std::uint8_t> data;

private:
    void acknowledge(const mad_view& view) {
        if (expected_ > window_last_) window_last_ = expected_ - 1 + size_;
        response_.emplace();
        std::ranges::copy(view.bytes(), response_->begin());
        (*response_)[3] ^= MAD_RESPONSE_BIT;
        store(header_at<rmpp_header::size>(mad_buffer(*response_), mad_header_size),
              ack(expected_ - 1, window_last_));
    }
    std::uint32_t size_;
    std::uint32_t expected_ = 1;
    std::uint32_t window_last_ = 1;
    std::optional<datagram> response_;
};

} // namespace irpverbs::ibmf::rmpp::testing
