// The receiving side of one transfer, from its first segment until the peer can't need the last ACK
// any more.
#ifndef IRPVERBS_IBMF_RMPP_RECEIVER_HPP
#define IRPVERBS_IBMF_RMPP_RECEIVER_HPP

#include <rmpp/header_template.hpp>
#include <rmpp/reassembly_buffer.hpp>
#include <rmpp/sink.hpp>

#include <algorithm>
#include <optional>

namespace irpverbs::ibmf::rmpp {

class receiver {
public:
    // `to` must live until the result is final. The receiver waits for segment 1 without a
    // deadline: the caller limits that time.
    receiver(const settings& chosen, sink& to);

    // Writes the next datagram to send. Returns false if there is none.
    bool transmit(mad_buffer datagram);

    // Processes a datagram of this transfer. Ignores ACKs and datagrams that are not active RMPP.
    void receive(const mad_view& view, ticks now);

    // The earlier deadline of the whole transfer and of the peer's next segment. After the end it
    // is the end of the time-wait.
    ticks deadline() const { return std::min(deadline_, segment_deadline_); }
    void expire(ticks now); // no effect before the deadline
    void cancel(ticks now);

    // Sets the number of segments that may be in flight, at most the window of the settings. 0
    // makes the peer wait; its silence then has no limit.
    void set_window(std::uint32_t segments, ticks now);

    const outcome& result() const { return result_; }
    const counters& counts() const { return counts_; }
    std::uint64_t received() const { return received_; } // bytes of data in order
    bool begun() const { return header_template_.has_value(); }
    bool retired() const { return retired_; } // the time-wait is over: duplicates get no response

private:
    struct segment {
        std::uint64_t number;
        bool last;
        mad_bytes data;
    };

    void accept_data(const mad_view& view, const rmpp_header& header, ticks now);
    rmpp_status fault_of_order(const rmpp_header& header) const;
    rmpp_status fault_of_length(const rmpp_header& header, std::size_t class_header) const;
    bool begin(const mad_view& view, const rmpp_header& header, ticks now);
    void buffer_segment(const segment& received);
    void deliver_in_order(const segment& received, ticks now);
    bool deliver(mad_bytes data);
    void acknowledge_if_due(bool at_once);
    void restart_segment_timer(ticks now);

    std::uint64_t in_order() const { return expected_ - 1; }
    void end(transfer_state state, rmpp_status code, bool by_peer, ticks now);
    void terminate(transfer_state state, rmpp_status code, ticks now);

    settings settings_;
    sink& sink_;
    std::optional<header_template> header_template_;
    reassembly_buffer reassembly_;
    std::uint32_t window_;
    std::uint64_t expected_ = 1;    // the next segment in order
    std::uint64_t window_last_ = 1; // last advertised value
    std::uint64_t acknowledged_ = 0;
    std::uint64_t gap_reported_ = 0;  // the gap before this segment was reported
    std::uint64_t highest_ = 0;       // highest received segment
    std::uint64_t last_ = 0;          // number of the last segment, after it has arrived; else 0
    std::uint64_t earliest_last_ = 0; // according to the announcement
    // According to the announcement.
    std::uint64_t latest_last_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t received_ = 0;
    ticks deadline_ = never;
    ticks segment_deadline_ = never; // deadline of the next segment
    bool ack_due_ = false;
    bool retired_ = false;
    std::optional<rmpp_status> stop_or_abort_; // to be sent
    outcome result_;
    counters counts_;
};

} // namespace irpverbs::ibmf::rmpp

#endif
