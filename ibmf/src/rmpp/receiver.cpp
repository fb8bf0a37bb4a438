#include <rmpp/receiver.hpp>

#include <dispatch/testing/probe.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

receiver::receiver(const settings& chosen, sink& to)
    : settings_(chosen), sink_(to), reassembly_(std::max(chosen.window, 1u)),
      window_(std::max(chosen.window, 1u)) {
    settings_.window = window_;
}

bool receiver::transmit(mad_buffer datagram) {
    if (stop_or_abort_) {
        header_template_->write_control(datagram, stop_or_abort(*stop_or_abort_));
        stop_or_abort_.reset();
        return true;
    }
    if (!ack_due_) return false;
    ack_due_ = false;
    acknowledged_ = in_order();
    window_last_ =
        std::max(window_last_, std::min<std::uint64_t>(in_order() + window_, UINT32_MAX));
    header_template_->write_control(datagram,
                                    {.type = rmpp_type::ack,
                                     .response_time = settings_.response_time_code,
                                     .segment = static_cast<std::uint32_t>(in_order()),
                                     .length_or_window = static_cast<std::uint32_t>(window_last_)});
    return true;
}

void receiver::receive(const mad_view& view, ticks now) {
    const rmpp_header header = view.rmpp();
    if (!header.active() || retired_) {
        ++counts_.ignored;
        return;
    }
    if (!result_.running()) {
        if (header.type != rmpp_type::data) return;
        // The peer does not know the end: the receiver repeats it.
        ++counts_.duplicates;
        if (result_.state == transfer_state::complete)
            ack_due_ = true;
        else
            stop_or_abort_ = result_.code;
        return;
    }
    const rmpp_status fault = fault_of(header);
    if (fault != rmpp_status::normal) {
        if (!header_template_) header_template_.emplace(view);
        return terminate(transfer_state::aborted, fault, now);
    }
    switch (header.type) {
    case rmpp_type::data:
        return accept_data(view, header, now);
    case rmpp_type::stop:
        return end(transfer_state::stopped, header.status, true, now);
    case rmpp_type::abort:
        return end(transfer_state::aborted, header.status, true, now);
    default:
        ++counts_.ignored;
    }
}

void receiver::accept_data(const mad_view& view, const rmpp_header& header, ticks now) {
    const std::size_t class_header = view.class_header().size();
    rmpp_status fault = fault_of_order(header);
    if (fault == rmpp_status::normal && !begun() && header.segment != 1) {
        ++counts_.ignored; // possibly of an earlier transfer
        return;
    }
    if (fault == rmpp_status::normal) fault = fault_of_length(header, class_header);
    if (fault != rmpp_status::normal) {
        if (!header_template_) header_template_.emplace(view);
        return terminate(transfer_state::aborted, fault, now);
    }
    const segment received{header.segment, header.last(),
                           view.data().first(header.last() && header.segment >= expected_
                                                 ? header.length_or_window - class_header
                                                 : view.data().size())};
    restart_segment_timer(now);
    if (received.number < expected_) {
        ++counts_.duplicates;
        return acknowledge_if_due(true);
    }
    if (!begun() && !begin(view, header, now)) return;
    highest_ = std::max(highest_, received.number);
    if (received.last) last_ = received.number;
    if (received.number != expected_) return buffer_segment(received);
    deliver_in_order(received, now);
}

rmpp_status receiver::fault_of_order(const rmpp_header& header) const {
    if (header.first() != (header.segment == 1) || header.segment == 0)
        return rmpp_status::inconsistent_first;
    if (begun() && header.segment > window_last_) return rmpp_status::segment_too_big;
    return rmpp_status::normal;
}

// The lengths in a duplicate are ignored.
rmpp_status receiver::fault_of_length(const rmpp_header& header, std::size_t class_header) const {
    if (header.segment < expected_) return rmpp_status::normal;
    const std::uint32_t length = header.length_or_window;
    const std::size_t least = std::max<std::size_t>(class_header, 1);
    bool wrong = false;
    if (header.last())
        wrong = length < least || length > rmpp_segment_size || header.segment < highest_ ||
                header.segment < earliest_last_;
    else
        wrong = header.segment >= latest_last_ ||
                (header.first() && length != 0 && length <= rmpp_segment_size);
    if (last_ != 0)
        wrong = wrong || header.segment > last_ || (header.segment == last_) != header.last();
    return wrong ? rmpp_status::inconsistent_last : rmpp_status::normal;
}

bool receiver::begin(const mad_view& view, const rmpp_header& header, ticks now) {
    header_template_.emplace(view);
    const std::uint64_t announced = header.last() ? 0 : header.length_or_window;
    if (announced != 0) {
        // Senders count the class header once or in every segment, and some pad. The announcement
        // bounds the number of the last segment within these variants; the last segment has the
        // exact length.
        const auto segments = [=](std::uint64_t each) { return (announced + each - 1) / each; };
        earliest_last_ = segments(rmpp_segment_size);
        latest_last_ = segments(view.data().size());
    }
    // More than the limit is not received, so an announcement above it gets no additional time and
    // memory.
    const std::uint64_t expected = std::min(announced, settings_.size_limit);
    deadline_ = now + total_time_of(settings_, expected);
    if (sink_.begin(view, expected)) return true;
    terminate(transfer_state::refused, rmpp_status::resources_exhausted, now);
    return false;
}

void receiver::buffer_segment(const segment& received) {
    switch (reassembly_.insert(received.number, received.data)) {
    case reassembly_buffer::insert_result::inserted:
        ++counts_.out_of_order;
        break;
    case reassembly_buffer::insert_result::duplicate:
        ++counts_.duplicates;
        break;
    case reassembly_buffer::insert_result::no_memory:
        break; // the segment counts as lost
    }
    acknowledge_if_due(gap_reported_ != expected_);
    gap_reported_ = expected_;
}

void receiver::deliver_in_order(const segment& received, ticks now) {
    bool taken = deliver(received.data);
    reassembly_.remove(expected_);
    ++expected_;
    while (taken) {
        const std::optional<mad_bytes> next = reassembly_.find(expected_);
        if (!next) break;
        IRPVERBS_PROBE("rmpp.gap_filled");
        taken = deliver(*next);
        reassembly_.remove(expected_);
        ++expected_;
    }
    if (!taken)
        return terminate(received_ >= settings_.size_limit ? transfer_state::truncated
                                                           : transfer_state::refused,
                         rmpp_status::resources_exhausted, now);
    if (in_order() == last_) {
        ack_due_ = true;
        return end(transfer_state::complete, rmpp_status::normal, false, now);
    }
    acknowledge_if_due(false);
}

bool receiver::deliver(mad_bytes data) {
    const std::uint64_t room = settings_.size_limit - received_;
    const mad_bytes kept =
        data.first(static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), room)));
    if (!sink_.append(kept)) return false;
    received_ += kept.size();
    return kept.size() == data.size();
}

// An ACK at half a window keeps the other half in flight.
void receiver::acknowledge_if_due(bool at_once) {
    const std::uint64_t half = std::max(window_ / 2, 1u);
    ack_due_ =
        ack_due_ || at_once || in_order() - acknowledged_ >= half || in_order() >= window_last_;
}

void receiver::restart_segment_timer(ticks now) {
    segment_deadline_ = window_ != 0 ? now + max_silence_of(settings_) : never;
}

void receiver::set_window(std::uint32_t segments, ticks now) {
    window_ = std::min(segments, settings_.window);
    if (!begun() || !result_.running()) return;
    restart_segment_timer(now);
    if (in_order() + window_ > window_last_) ack_due_ = true;
}

void receiver::expire(ticks now) {
    if (now < deadline()) return;
    if (result_.running())
        return terminate(transfer_state::timed_out,
                         now >= deadline_ ? rmpp_status::total_time_too_long
                                          : rmpp_status::too_many_retries,
                         now);
    retired_ = true;
    deadline_ = never;
    ack_due_ = false;
    stop_or_abort_.reset();
}

void receiver::cancel(ticks now) {
    if (!result_.running()) return;
    if (!begun()) return end(transfer_state::cancelled, rmpp_status::unspecified, false, now);
    terminate(transfer_state::cancelled, rmpp_status::unspecified, now);
}

void receiver::end(transfer_state state, rmpp_status code, bool by_peer, ticks now) {
    result_ = {state, code, by_peer};
    reassembly_.clear();
    segment_deadline_ = never;
    if (state != transfer_state::complete) ack_due_ = false;
    retired_ = by_peer || !begun();
    deadline_ = retired_ ? never : now + settings_.time_wait;
}

void receiver::terminate(transfer_state state, rmpp_status code, ticks now) {
    stop_or_abort_ = code;
    end(state, code, false, now);
}

} // namespace irpverbs::ibmf::rmpp
