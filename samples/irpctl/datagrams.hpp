// Single datagrams, asked and answered.
#pragma once

#include "answer.hpp"
#include "open_port.hpp"

#include <irp/within.hpp>

namespace irpctl {

/// Where a question goes: the permissive LID for directed routes.
IB_MAD_ADDRESS address_of(std::uint16_t lid, std::uint8_t mgmt_class);

/// Machine time, 100 ns.
std::uint64_t now_in_ticks();

/// How a question ended: with an answer, without one in time, or by Ctrl-C.
struct outcome {
    std::optional<answer> answered;
    bool interrupted = false;
};

/// A client of one class that receives nothing but answers, so that it is in nobody's way.
class datagram_client {
public:
    /// Throws system_error.
    static asio::awaitable<datagram_client> open(const open_port& at, const question& like);

    /// Asks once. Answers to other questions, by transaction id, are dropped and counted.
    asio::awaitable<outcome> ask(const question& what, std::uint16_t lid,
                                 irpverbs::irp::ticks patience);
    /// What nobody answers.
    asio::awaitable<void> tell(const question& what, std::uint16_t lid);
    std::uint64_t late() const { return late_; }
    asio::awaitable<void> close();

private:
    ci::mad_agent agent_;
    std::uint64_t late_ = 0;
};

} // namespace irpctl
