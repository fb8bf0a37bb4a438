#include <rmpp/double_sided.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

requester::requester(const settings& chosen, const message& request, sink& response)
    : settings_(chosen), envelope_(request), sender_(chosen, request), receiver_(chosen, response),
      retries_left_(chosen.retries) {}

bool requester::transmit(mad_buffer datagram, ticks now) {
    if (refusal_) {
        envelope_.write_control(datagram, refusal(*refusal_));
        refusal_.reset();
        return true;
    }
    if (sender_.transmit(datagram, now)) return true;
    if (!turn_due_) return receiver_.transmit(datagram);
    turn_due_ = false;
    envelope_.write_control(datagram, {.type = rmpp_type::ack,
                                       .response_time = settings_.response_time_code,
                                       .length_or_window = 1});
    return true;
}

void requester::receive(const mad_view& view, ticks now) {
    const rmpp_header header = view.rmpp();
    if (!header.active() || given_up_) return;
    const bool begins = header.type == rmpp_type::data && header.version == 1 && header.first();
    if (sender_.result().running() && begins && sender_.all_sent()) {
        // A peer responds only if it has the whole request: its last ACK was lost.
        sender_.answered();
        response_deadline_ = now + settings_.response_timer();
    }
    if (sender_.result().running()) {
        sender_.receive(view, now);
        if (turned()) turn(now);
        return;
    }
    if (!turned()) return;
    if (header.type == rmpp_type::ack && header.version == 1) {
        // Before a response has begun, a repeated last ACK means that our ACK of segment 0 was
        // lost.
        if (header.segment == sender_.segments() && !receiver_.begun()) turn_due_ = true;
        return;
    }
    receiver_.receive(view, now);
    if (receiver_.begun() || !receiver_.result().running()) {
        response_deadline_ = never;
        turn_due_ = false;
    }
}

void requester::turn(ticks now) {
    turn_due_ = true;
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
        return turn(now);
    }
    response_deadline_ = never;
    given_up_ = outcome{ending::timed_out, rmpp_status::too_many_retries, false};
    refusal_ = rmpp_status::too_many_retries;
}

void requester::cancel(ticks now) {
    if (!result().running()) return;
    if (!turned()) return sender_.cancel();
    if (receiver_.begun()) return receiver_.cancel(now);
    response_deadline_ = never;
    turn_due_ = false;
    given_up_ = outcome{ending::cancelled, rmpp_status::unspecified, false};
    refusal_ = rmpp_status::unspecified;
}

const outcome& requester::result() const {
    if (given_up_) return *given_up_;
    return turned() ? receiver_.result() : sender_.result();
}

} // namespace irpverbs::ibmf::rmpp
