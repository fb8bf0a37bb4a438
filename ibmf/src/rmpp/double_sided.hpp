// Transfers in both directions under one TransactionID: an RMPP request with an RMPP response.
// After the last ACK of the request, the requester reverses the direction with an ACK of segment 0.
// The other side is a receiver and a sender, in two separate transfers. Source: IBA 13.6.6.3.
#ifndef IRPVERBS_IBMF_RMPP_DOUBLE_SIDED_HPP
#define IRPVERBS_IBMF_RMPP_DOUBLE_SIDED_HPP

#include <rmpp/receiver.hpp>
#include <rmpp/sender.hpp>

#include <optional>

namespace irpverbs::ibmf::rmpp {

// Sends the request, then receives the response.
class requester {
public:
    requester(const settings& chosen, const message& request, sink& response);

    bool transmit(mad_buffer datagram, ticks now);
    void receive(const mad_view& view, ticks now);
    ticks deadline() const;
    void expire(ticks now);
    void cancel(ticks now);

    // Sets the window of the response, as receiver::set_window.
    void set_window(std::uint32_t segments, ticks now) { receiver_.set_window(segments, now); }

    // The result of both transfers; until the request is complete, the result of the request.
    const outcome& result() const;
    bool retired() const {
        return response_failure_ ||
               (!result().running() && (!direction_switched() || receiver_.retired()));
    }
    const sender& request() const { return sender_; }
    const receiver& response() const { return receiver_; }

private:
    bool direction_switched() const { return sender_.result().state == transfer_state::complete; }
    void switch_direction(ticks now);

    settings settings_;
    header_template header_template_;
    sender sender_;
    receiver receiver_;
    std::uint32_t retries_left_;
    ticks response_deadline_ = never;   // limit for the first segment
    bool direction_switch_due_ = false; // the ACK of segment 0 is to be sent
    std::optional<rmpp_status> stop_or_abort_;
    std::optional<outcome> response_failure_; // result if no response arrived
};

} // namespace irpverbs::ibmf::rmpp

#endif
