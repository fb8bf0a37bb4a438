// Requests of one datagram and their responses.
#pragma once

#include "mad_response.hpp"
#include "open_port.hpp"

#include <irp/within.hpp>

namespace irpctl {

/// Returns the destination of a request: the permissive LID for directed routes.
IB_MAD_ADDRESS address_of(std::uint16_t lid, std::uint8_t mgmt_class);

/// Returns the machine time in units of 100 ns.
std::uint64_t now_in_ticks();

/// The result of a request: a response, a time-out, or an interruption by Ctrl-C.
struct outcome {
    std::optional<mad_response> response;
    bool interrupted = false;
};

/// A client of one class. It receives responses only, so other agents of the class keep their
/// requests.
class datagram_client {
public:
    /// Throws system_error.
    static asio::awaitable<datagram_client> open(const open_port& at, const mad_request& like);

    /// Sends a request once. Drops and counts responses with another transaction id.
    asio::awaitable<outcome> exchange(const mad_request& what, std::uint16_t lid,
                                      irpverbs::irp::ticks time_limit);
    /// Sends a datagram that has no response.
    asio::awaitable<void> send_only(const mad_request& what, std::uint16_t lid);
    std::uint64_t late() const { return late_; }
    asio::awaitable<void> close();

private:
    ci::mad_agent agent_;
    std::uint64_t late_ = 0;
};

} // namespace irpctl
