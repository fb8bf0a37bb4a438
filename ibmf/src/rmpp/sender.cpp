#include <rmpp/sender.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace irpverbs::ibmf::rmpp {

sender::sender(const settings& chosen, const message& sent)
    : settings_(chosen), message_(sent), header_template_(sent),
      segment_data_(mad_size - header_template_.size()),
      segments_(std::max<std::uint64_t>(1, (sent.data.size() + segment_data_ - 1) / segment_data_)),
      retries_left_(chosen.retries) {}

bool sender::transmit(mad_buffer datagram, ticks now) {
    if (stop_or_abort_) {
        header_template_.write_control(datagram, stop_or_abort(*stop_or_abort_));
        stop_or_abort_.reset();
        return true;
    }
    if (!result_.running()) return false;
    std::uint64_t segment = first_;
    if (!std::exchange(retransmit_first_, false)) {
        if (next_ > std::min(window_last_, segments_)) return false;
        segment = next_++;
    }
    write_segment(datagram, segment);
    if (highest_sent_ == 0) total_deadline_ = now + total_time_of(settings_, message_.data.size());
    if (segment <= highest_sent_) ++counts_.resent;
    highest_sent_ = std::max(highest_sent_, segment);
    deadline_ = now + settings_.response_timer();
    return true;
}

void sender::write_segment(mad_buffer datagram, std::uint64_t segment) {
    const std::uint64_t from = (segment - 1) * segment_data_;
    const mad_bytes data = message_.data.subspan(
        from, std::min<std::uint64_t>(segment_data_, message_.data.size() - from));
    const std::uint64_t class_header = header_template_.size() - rmpp_data_offset;
    const bool last = segment == segments_;
    rmpp_header header{.type = rmpp_type::data,
                       .flags = rmpp_active,
                       .segment = static_cast<std::uint32_t>(segment)};
    if (last) {
        header.flags |= rmpp_last;
        header.length_or_window = static_cast<std::uint32_t>(class_header + data.size());
    }
    if (segment == 1) {
        const std::uint64_t total = class_header * segments_ + message_.data.size();
        header.flags |= rmpp_first;
        header.response_time = settings_.response_time_code;
        // A length that exceeds the field is announced as unknown.
        header.length_or_window = static_cast<std::uint32_t>(total <= UINT32_MAX ? total : 0);
    }
    header_template_.write(datagram, header);
    // memcpy: a loop over spans costs five instructions per byte.
    std::uint8_t* const body = datagram.data() + header_template_.size();
    if (!data.empty()) std::memcpy(body, data.data(), data.size());
    std::memset(body + data.size(), 0, segment_data_ - data.size());
}

void sender::receive(const mad_view& view, ticks now) {
    if (!result_.running()) return;
    const rmpp_header header = view.rmpp();
    const rmpp_status fault = fault_of(header);
    if (fault != rmpp_status::normal) return terminate(transfer_state::aborted, fault);
    switch (header.type) {
    case rmpp_type::ack:
        return accept_ack(header, now);
    case rmpp_type::stop:
        return end(transfer_state::stopped, header.status, true);
    case rmpp_type::abort:
        return end(transfer_state::aborted, header.status, true);
    default:
        ++counts_.ignored;
    }
}

void sender::accept_ack(const rmpp_header& ack, ticks now) {
    if (ack.segment > highest_sent_)
        return terminate(transfer_state::aborted, rmpp_status::segment_too_big);
    if (ack.length_or_window < ack.segment)
        return terminate(transfer_state::aborted, rmpp_status::window_too_small);
    if (ack.segment + 1 < first_) {
        ++counts_.ignored;
        return;
    }
    if (ack.response_time != rmpp_header::no_response_time)
        settings_.response_time = std::min(decoded_time(ack.response_time), max_response_time);
    // A window never shrinks: an ACK with a smaller window is older and was overtaken.
    const bool opened = ack.length_or_window > window_last_;
    window_last_ = std::max<std::uint64_t>(window_last_, ack.length_or_window);
    if (ack.segment >= first_) return acknowledge(ack.segment, now);
    // The receiver has closed the window and responds, so it is not silent.
    if (first_ > window_last_) retries_left_ = settings_.retries;
    // A repeated ACK means that the receiver lacks first_ and has a later segment. An ACK of
    // segment 0 has another meaning: it reverses a double-sided transfer.
    if (ack.segment != 0 && !opened && first_ <= highest_sent_ && !retransmitted_first_)
        retransmit_first_ = retransmitted_first_ = true;
}

void sender::acknowledge(std::uint64_t segment, ticks now) {
    first_ = segment + 1;
    next_ = std::max(next_, first_);
    retries_left_ = settings_.retries;
    retransmit_first_ = retransmitted_first_ = false;
    // The timer also runs with nothing in flight: the window may be closed, and the ACK that opens
    // it may be lost.
    deadline_ = now + settings_.response_timer();
    if (first_ > segments_) end(transfer_state::complete, rmpp_status::normal, false);
}

void sender::expire(ticks now) {
    if (now < deadline() || !result_.running()) return;
    if (now >= total_deadline_)
        return terminate(transfer_state::timed_out, rmpp_status::total_time_too_long);
    if (retries_left_ == 0)
        return terminate(transfer_state::timed_out, rmpp_status::too_many_retries);
    --retries_left_;
    // If the window is closed, the sender repeats the last segment within it, to get an ACK with
    // the present window.
    next_ = std::min(first_, window_last_);
    retransmit_first_ = retransmitted_first_ = false;
    deadline_ = now + settings_.response_timer();
}

void sender::cancel() {
    if (!result_.running()) return;
    if (highest_sent_ == 0) return end(transfer_state::cancelled, rmpp_status::unspecified, false);
    terminate(transfer_state::cancelled, rmpp_status::unspecified);
}

void sender::response_arrived() {
    if (result_.running()) end(transfer_state::complete, rmpp_status::normal, false);
}

void sender::end(transfer_state state, rmpp_status code, bool by_peer) {
    result_ = {state, code, by_peer};
    deadline_ = total_deadline_ = never;
}

void sender::terminate(transfer_state state, rmpp_status code) {
    end(state, code, false);
    stop_or_abort_ = code;
}

} // namespace irpverbs::ibmf::rmpp
