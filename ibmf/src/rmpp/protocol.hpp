// The common parts of the RMPP engine: time, settings, results. The engine does no I/O: its inputs
// are datagrams and the time; its outputs are datagrams (transmit) and the time of the next call
// (deadline). After each receive, expire or cancel the caller transmits until no datagram is left.
// Not thread-safe: one caller at a time per transfer. Source: IBA 13.6.
#ifndef IRPVERBS_IBMF_RMPP_PROTOCOL_HPP
#define IRPVERBS_IBMF_RMPP_PROTOCOL_HPP

#include <ibmf/mad.hpp>

#include <cstdint>
#include <limits>

namespace irpverbs::ibmf::rmpp {

using ticks = std::uint64_t; // 100 ns, as in the machine
inline constexpr ticks never = std::numeric_limits<ticks>::max();
inline constexpr ticks millisecond = 10'000;
inline constexpr ticks second = 1000 * millisecond;

inline constexpr ticks max_total_time = 3600 * second;
inline constexpr ticks max_response_time = 5 * second; // code 20 is 4.3 s

struct settings {
    ticks response_time = 4 * second; // of the peer, until it announces its own; at most 5 s
    ticks round_trip = 100 * millisecond;
    ticks time_wait = 10 * second; // time after the end in which duplicates are acknowledged
    std::uint32_t retries = 3;     // consecutive, without progress
    std::uint32_t window = 64;     // segments in flight that we allow; at least 1
    std::uint64_t size_limit = std::uint64_t{256} << 20;             // bytes of received data
    std::uint8_t response_time_code = rmpp_header::no_response_time; // announced to the peer

    ticks response_timer() const { return response_time + round_trip; }
};

// The maximum time of a transfer of `announced` bytes (0: unknown), from its first segment, on
// either side. Exceeding it gives T2L.
ticks total_time_of(const settings& chosen, std::uint64_t announced);

// The maximum silence of a sender in the middle of a transfer. Exceeding it gives TMR. The receiver
// does not know the sender's resend timer, and assumes at least the default one.
ticks max_silence_of(const settings& chosen);

// 4.096 us * 2^code.
constexpr ticks decoded_time(std::uint8_t code) {
    return (std::uint64_t{4096} << (code & 31)) / 100;
}

enum class transfer_state : std::uint8_t {
    running,
    complete,
    truncated, // at the size limit; sends a STOP
    refused,   // by the sink; sends a STOP
    stopped,   // by the peer's STOP
    aborted,   // by an ABORT of either side
    timed_out, // T2L or TMR; sends an ABORT
    cancelled, // sends an ABORT UNSPEC if the peer is known
};

const char* name_of(transfer_state state);

struct outcome {
    transfer_state state = transfer_state::running;
    rmpp_status code = rmpp_status::normal; // status of the STOP or ABORT
    bool by_peer = false;

    bool running() const { return state == transfer_state::running; }
    bool operator==(const outcome&) const = default;
};

struct counters {
    std::uint32_t resent = 0;       // segments sent again
    std::uint32_t duplicates = 0;   // segments received again
    std::uint32_t out_of_order = 0; // segments received before earlier ones
    std::uint32_t ignored = 0;      // stale or invalid here, and harmless
};

// The message to send. The parts must outlive the transfer.
struct message {
    std::span<const std::uint8_t, mad_header_size> header;
    mad_bytes class_header; // has the layout's size; repeated in every segment
    mad_bytes data;
};

// Returns the fault of an RMPP header that every receiver must respond to with an ABORT, or normal.
rmpp_status fault_of(const rmpp_header& header);

} // namespace irpverbs::ibmf::rmpp

#endif
