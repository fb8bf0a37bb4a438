// Sends a message in segments as the kernel does.
#pragma once

#include "mad.hpp"

#include <functional>
#include <span>
#include <vector>

namespace irpverbs::umad {

class rmpp_out {
public:
    enum class state { going, acknowledged, ended_by_peer, out_of_retries };
    using emit = std::function<void(const mad&)>;

    /// `message` has the headers once, then all data. A `timeout_ms` of 0 expects no response.
    rmpp_out(std::span<const std::uint8_t> message, int timeout_ms, int longest_wait_ms,
             int retries, emit out);

    void start() { send_window(); }
    /// Processes an ACK, STOP or ABORT of the receiver.
    state control(const std::uint8_t* m);
    /// Processes the expiry of the timer for an ACK.
    state expired();
    int max_wait_ms() const;

    std::span<const std::uint8_t> header() const { return std::span(message_).first(mad_header); }
    bool awaits_response() const { return timeout_ms_ != 0 && !is_response(message_.data()); }
    int timeout_ms() const { return timeout_ms_; }

private:
    void send_window();
    void send_segment(std::uint32_t number);
    void send_abort(rmpp::code why);

    std::vector<std::uint8_t> message_;
    std::size_t head_;
    std::size_t room_;
    std::uint32_t segments_;
    std::uint32_t acknowledged_ = 0;
    std::uint32_t sent_ = 0;
    std::uint32_t window_ = 1;
    int timeout_ms_;
    int longest_wait_ms_;
    int retries_;
    int left_;
    emit emit_;
};

} // namespace irpverbs::umad
