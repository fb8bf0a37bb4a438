#include <rmpp/protocol.hpp>

#include <algorithm>

namespace irpverbs::ibmf::rmpp {

// Four fifths of the response timer per segment. The minimum is the time of a transfer of unknown
// size, since a short transfer must survive a few lost datagrams as well. The maximum protects
// against false announcements.
ticks total_time_of(const settings& chosen, std::uint64_t announced) {
    const std::uint64_t segments = (announced + rmpp_segment_size - 1) / rmpp_segment_size;
    return std::clamp(chosen.response_timer() / 5 * 4 * segments, 40 * second, max_total_time);
}

ticks max_silence_of(const settings& chosen) {
    const ticks resend_timer = std::max(chosen.response_timer(), settings{}.response_timer());
    return (ticks{chosen.retries} + 1) * resend_timer;
}

const char* name_of(transfer_state state) {
    switch (state) {
    case transfer_state::running:
        return "running";
    case transfer_state::complete:
        return "complete";
    case transfer_state::truncated:
        return "truncated";
    case transfer_state::refused:
        return "refused";
    case transfer_state::stopped:
        return "stopped";
    case transfer_state::aborted:
        return "aborted";
    case transfer_state::timed_out:
        return "timed out";
    case transfer_state::cancelled:
        return "cancelled";
    }
    return "unknown";
}

rmpp_status fault_of(const rmpp_header& header) {
    if (header.version != 1) return rmpp_status::unsupported_version;
    switch (header.type) {
    case rmpp_type::data:
    case rmpp_type::ack:
        return header.status == rmpp_status::normal ? rmpp_status::normal
                                                    : rmpp_status::illegal_status;
    case rmpp_type::stop:
    case rmpp_type::abort:
        return rmpp_status::normal; // a STOP or ABORT with any code ends the transfer
    case rmpp_type::none:
        break;
    }
    return rmpp_status::bad_type;
}

} // namespace irpverbs::ibmf::rmpp
