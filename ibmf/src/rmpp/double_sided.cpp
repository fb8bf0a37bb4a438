#include <rmpp/double_sided.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

requester::requester(const settings& chosen, const message& request, sink& response)
    : settings_(chosen), header_template_(request), sender_(chosen, request),
      receiver_(chosen, response), retries_left_(chosen.retries) {}

bool requester::transmit(mad_buffer datagram, ticks now) {
    if (stop_or_abort_) {
        header_template_.write_control(datagram, stop_or_abort(*stop_or_abort_));
        stop_or_abort_.reset();
        return true;
    }
    if (sender_.transmit(datagram, now)) return true;
    if (!direction_switch_due_) return receiver_.transmit(datagram);
    direction_switch_due_ = false;
    header_template_.write_control(datagram, {.type = rmpp_type::ack,
                                              .response_time = settings_.response_time_code,
                                              .length_or_window = 1});
    return true;
}

void requester::receive(const mad_view& view, ticks now) {
    const rmpp_header header = view.rmpp();
    if (!header.active() || response_failure_) return;
    const bool begins = header.type == rmpp_type::data && header.version == 1 && header.first();
    if (sender_.result().running() && begins && sender_.all_sent()) {
        // A peer responds only if it has the whole request: its last ACK was lost.
        sender_.response_arrived();
        response_deadline_ = now + settings_.response_timer();
    }
    if (sender_.result().running()) {
        sender_.receive(view, now);
        if (direction_switched()) switch_direction(now);
        return;
    }
    if (!direction_switched()) return;
    if (header.type == rmpp_type::ack && header.version == 1) {
        // Before a response has begun, a repeated last ACK means that our ACK of segment 0 was
        // lost.
        if (header.segment == sender_.segments() && !receiver_.begun())
            direction_switch_due_ = true;
        return;
    }
    receiver_.receive(view, now);
    if (receiver_.begun() || !receiver_.result().running()) {
        response_deadline_ = never;
        direction_switch_due_ = false;
    }
}

void requester::switch_direction(ticks now) {
    direction_switch_due_ = true;
    response_deadline_ = now + settings_.response_timer();
}

ticks requester::deadline() const {
    return std::min({sender_.deadline(), receiver_.deadline(), response_deadline_});
}

void requester::expire(ticks now) {
    sender_.expire(now);
    receiver_.expire(now);
    if (now < response_deadline_) return;
    if (retries_left_ != 0) {
        --retries_left_;
        return switch_direction(now);
    }
    response_deadline_ = never;
    response_failure_ = outcome{transfer_state::timed_out, rmpp_status::too_many_retries, false};
    stop_or_abort_ = rmpp_status::too_many_retries;
}

void requester::cancel(ticks now) {
    if (!result().running()) return;
    if (!direction_switched()) return sender_.cancel();
    if (receiver_.begun()) return receiver_.cancel(now);
    response_deadline_ = never;
    direction_switch_due_ = false;
    response_failure_ = outcome{transfer_state::cancelled, rmpp_status::unspecified, false};
    stop_or_abort_ = rmpp_status::unspecified;
}

const outcome& requester::result() const {
    if (response_failure_) return *response_failure_;
    return direction_switched() ? receiver_.result() : sender_.result();
}

} // namespace irpverbs::ibmf::rmpp
