// The sending side of one transfer.
#ifndef IRPVERBS_IBMF_RMPP_SENDER_HPP
#define IRPVERBS_IBMF_RMPP_SENDER_HPP

#include <rmpp/control.hpp>

#include <algorithm>
#include <optional>

namespace irpverbs::ibmf::rmpp {

class sender {
public:
    sender(const settings& chosen, const message& sent);

    // Writes the next datagram to send; false when there is none for now.
    bool transmit(mad_buffer datagram, ticks now);

    // An active RMPP datagram of the peer, of this transfer. DATA are ignored.
    void receive(const mad_view& view, ticks now);

    ticks deadline() const { return std::min(deadline_, end_by_); }
    void expire(ticks now); // does nothing before the deadline
    void cancel();

    // The peer has answered, so it has all: complete, though the last ACK did not come.
    void answered();

    const outcome& result() const { return result_; }
    const tally& counts() const { return counts_; }
    std::uint64_t segments() const { return segments_; }
    bool all_sent() const { return highest_sent_ == segments_; }

private:
    void accept_ack(const rmpp_header& ack, ticks now);
    void acknowledge(std::uint64_t segment, ticks now);
    void write_segment(mad_buffer datagram, std::uint64_t segment);
    void end(ending how, rmpp_status code, bool by_peer);
    void refuse(ending how, rmpp_status code);

    settings settings_;
    message message_;
    envelope envelope_;
    std::uint64_t segment_data_; // bytes of data in each segment but the last
    std::uint64_t segments_;
    // Segment numbers. Those below first_ are acknowledged.
    std::uint64_t first_ = 1;
    std::uint64_t next_ = 1;
    std::uint64_t window_last_ = 1; // one segment goes out before the first ACK
    std::uint64_t highest_sent_ = 0;
    std::uint32_t retries_left_;
    bool repair_ = false;                // first_ goes out again, before all else
    bool repaired_ = false;              // has done so, since it became first_
    ticks deadline_ = never;             // of the peer's next sign
    ticks end_by_ = never;               // of it all, from the first segment on
    std::optional<rmpp_status> refusal_; // to be sent
    outcome result_;
    tally counts_;
};

} // namespace irpverbs::ibmf::rmpp

#endif
