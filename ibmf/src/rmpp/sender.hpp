// The sending side of one transfer.
#ifndef IRPVERBS_IBMF_RMPP_SENDER_HPP
#define IRPVERBS_IBMF_RMPP_SENDER_HPP

#include <rmpp/header_template.hpp>

#include <algorithm>
#include <optional>

namespace irpverbs::ibmf::rmpp {

class sender {
public:
    sender(const settings& chosen, const message& sent);

    // Writes the next datagram to send. Returns false if there is none at present.
    bool transmit(mad_buffer datagram, ticks now);

    // Processes an active RMPP datagram of the peer in this transfer. Ignores DATA.
    void receive(const mad_view& view, ticks now);

    ticks deadline() const { return std::min(deadline_, total_deadline_); }
    void expire(ticks now); // no effect before the deadline
    void cancel();

    // The peer has responded, so it has the whole request: the transfer is complete without its
    // last ACK.
    void response_arrived();

    const outcome& result() const { return result_; }
    const counters& counts() const { return counts_; }
    std::uint64_t segments() const { return segments_; }
    bool all_sent() const { return highest_sent_ == segments_; }

private:
    void accept_ack(const rmpp_header& ack, ticks now);
    void acknowledge(std::uint64_t segment, ticks now);
    void write_segment(mad_buffer datagram, std::uint64_t segment);
    void end(transfer_state state, rmpp_status code, bool by_peer);
    void terminate(transfer_state state, rmpp_status code);

    settings settings_;
    message message_;
    header_template header_template_;
    std::uint64_t segment_data_; // bytes of data in each segment except the last
    std::uint64_t segments_;
    // Segment numbers. All below first_ are acknowledged.
    std::uint64_t first_ = 1;
    std::uint64_t next_ = 1;
    std::uint64_t window_last_ = 1; // one segment is sent before the first ACK
    std::uint64_t highest_sent_ = 0;
    std::uint32_t retries_left_;
    bool retransmit_first_ = false;            // first_ is sent again before other segments
    bool retransmitted_first_ = false;         // first_ has been sent again
    ticks deadline_ = never;                   // deadline of the peer's next response
    ticks total_deadline_ = never;             // deadline of the whole transfer
    std::optional<rmpp_status> stop_or_abort_; // to be sent
    outcome result_;
    counters counts_;
};

} // namespace irpverbs::ibmf::rmpp

#endif
