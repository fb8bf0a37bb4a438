// What all parts of the RMPP engine share: time, settings, how a transfer ended. The engine does no
// I/O: datagrams and the time go in; datagrams (transmit) and a time to be called at (deadline)
// come out. After every receive, expire or cancel the caller transmits until there is nothing left.
// Not thread-safe: one transfer, one caller at a time. Source: IBA 13.6.
#ifndef IRPVERBS_IBMF_RMPP_PROTOCOL_HPP
#define IRPVERBS_IBMF_RMPP_PROTOCOL_HPP

#include <ibmf/mad.hpp>

#include <cstdint>
#include <limits>

namespace irpverbs::ibmf::rmpp {

using ticks = std::uint64_t; // 100 ns, like the machine's
inline constexpr ticks never = std::numeric_limits<ticks>::max();
inline constexpr ticks millisecond = 10'000;
inline constexpr ticks second = 1000 * millisecond;

inline constexpr ticks longest_total_time = 3600 * second;
inline constexpr ticks longest_response_time = 5 * second; // code 20 is 4.3 s

struct settings {
    ticks response_time = 4 * second; // the peer's, until it says otherwise; at most the longest
    ticks round_trip = 100 * millisecond;
    ticks linger = 10 * second; // what was received is acknowledged again for so long
    std::uint32_t retries = 3;  // in a row without progress
    std::uint32_t window = 64;  // segments in flight to us; at least 1
    std::uint64_t size_limit = std::uint64_t{256} << 20;             // bytes of data received
    std::uint8_t response_time_code = rmpp_header::no_response_time; // ours, for the peer to know

    ticks response_timer() const { return response_time + round_trip; }
};

// The longest time that a transfer of `announced` bytes (0: unknown) may take from its first
// segment on, on either side; then T2L.
ticks total_time_of(const settings& chosen, std::uint64_t announced);

// The longest silence of a sender in mid-transfer that its receiver bears; then TMR. A sender
// resends by a timer of its own, which no receiver knows: less than the default one is never
// assumed.
ticks longest_silence_of(const settings& chosen);

// 4.096 us * 2^code.
constexpr ticks decoded_time(std::uint8_t code) {
    return (std::uint64_t{4096} << (code & 31)) / 100;
}

enum class ending : std::uint8_t {
    running,
    complete,
    truncated, // at the size limit; STOP sent
    refused,   // by the sink; STOP sent
    stopped,   // by the peer's STOP
    aborted,   // by an ABORT, sent or received
    timed_out, // T2L or TMR; ABORT sent
    cancelled, // ABORT UNSPEC sent, if there was anybody to send it to
};

const char* name_of(ending how);

struct outcome {
    ending how = ending::running;
    rmpp_status code = rmpp_status::normal; // of the STOP or ABORT
    bool by_peer = false;

    bool running() const { return how == ending::running; }
    bool operator==(const outcome&) const = default;
};

struct tally {
    std::uint32_t resent = 0;       // segments sent again
    std::uint32_t duplicates = 0;   // segments that were there already
    std::uint32_t out_of_order = 0; // segments ahead of their turn
    std::uint32_t ignored = 0;      // stale or senseless here, and harmless
};

// The message to send. All are lent and must outlive the transfer.
struct message {
    std::span<const std::uint8_t, mad_header_size> header;
    mad_bytes class_header; // the layout's size; goes with every segment
    mad_bytes data;
};

// The RMPP header's fault that any receiver must answer with an ABORT; normal when there is none.
rmpp_status fault_of(const rmpp_header& header);

} // namespace irpverbs::ibmf::rmpp

#endif
