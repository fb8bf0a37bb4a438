// Requests of one datagram and their responses.
#pragma once

#include "answer.hpp"
#include "open_port.hpp"

#include <irp/within.hpp>

namespace irpctl {

/// Returns the destination of a request: the permissive LID for directed routes.
IB_MAD_ADDRESS address_of(std::uint16_t lid, std::uint8_t mgmt_class);

/// Returns the machine time in units of 100 ns.
std::uint64_t now_in_ticks();

/// The result of a request: a response, a time-out, or an interruption by Ctrl-C.
struct outcome {
    std::optional<answer> answered;
    bool interrupted = false;
};

/// A client of one class. It receives responses only, so other agents of the class keep their
/// requests.
class datagram_client {
public:
    /// Throws system_error.
    static asio::awaitable<datagram_client> open(const open_port& at, const question& like);

    /// Sends a request once. Drops and counts responses with another transaction id.
    asio::awaitable<outcome> ask(const question& what, std::uint16_t lid,
                                 irpverbs::irp::ticks patience);
    /// Sends a datagram that has no response.
    asio::awaitable<void> tell(const question& what, std::uint16_t lid);
    std::uint64_t late() const { return late_; }
    asio::awaitable<void> close();

private:
    ci::mad_agent agent_;
    std::uint64_t late_ = 0;
};

} // namespace irpctl
