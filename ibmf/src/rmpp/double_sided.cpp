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
        // Only who has the whole request answers it: its last ACK was lost.
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
        // Our ACK of segment 0 was lost, as long as no response has begun.
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

responder::responder(const settings& chosen, sink& request)
    : settings_(chosen), receiver_(chosen, request) {}

bool responder::transmit(mad_buffer datagram, ticks now) {
    return receiver_.transmit(datagram) || (sender_ && sender_->transmit(datagram, now));
}

void responder::receive(const mad_view& view, ticks now) {
    const rmpp_header header = view.rmpp();
    if (!header.active()) return;
    // Segments of the request; while it comes, all that is about it.
    if (header.type == rmpp_type::data || receiver_.result().running())
        return receiver_.receive(view, now);
    if (sender_) return sender_->receive(view, now);
    if (receiver_.result().how != ending::complete || fault_of(header) != rmpp_status::normal)
        return;
    if (header.type == rmpp_type::ack && header.segment == 0)
        window_ = std::max({window_, header.length_or_window, 1u});
    else if (header.type != rmpp_type::ack && waiting_.running())
        waiting_ = {header.type == rmpp_type::stop ? ending::stopped : ending::aborted,
                    header.status, true};
}

ticks responder::deadline() const {
    return std::min(receiver_.deadline(), sender_ ? sender_->deadline() : never);
}

void responder::expire(ticks now) {
    receiver_.expire(now);
    if (sender_) sender_->expire(now);
}

void responder::cancel(ticks now) {
    if (receiver_.result().running()) return receiver_.cancel(now);
    if (sender_) return sender_->cancel();
    if (waiting_.running()) waiting_ = {ending::cancelled, rmpp_status::unspecified, false};
}

void responder::reply(const message& response) {
    const bool due = receiver_.result().how == ending::complete && waiting_.running() && !sender_;
    if (due) sender_.emplace(settings_, response, window_);
}

const outcome& responder::result() const {
    if (receiver_.result().how != ending::complete) return receiver_.result();
    return sender_ ? sender_->result() : waiting_;
}

} // namespace irpverbs::ibmf::rmpp
