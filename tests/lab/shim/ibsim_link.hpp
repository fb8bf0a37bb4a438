// The wire to ibsim: its packets and its control messages, over abstract unix sockets.
#pragma once

#include "mad.hpp"

#include <deque>
#include <span>
#include <string>

namespace shim {

/// As ibsim lays it out; integers in network order where not said otherwise.
struct packet {
    std::uint32_t dlid = 0;
    std::uint32_t slid = 0;
    std::uint32_t dqp = 0;
    std::uint32_t sqp = 0;
    std::uint32_t status = 0;
    std::uint64_t length = 0;
    mad content{};
};

enum class control : std::uint32_t {
    connect = 1,
    disconnect = 2,
    node_info = 7,
    port_info = 8,
    set_issm = 9,
    pkeys = 10,
};

using attribute = std::array<std::uint8_t, 64>;

class ibsim_link {
public:
    /// Joins the simulation of IBSIM_SOCKNAME as the node SIM_HOST; ends the program when it can't.
    ibsim_link();

    std::uint32_t client() const { return client_; }
    int descriptor() const { return packets_; }

    /// One control request and its answer, in place; false: refused, or ibsim is gone.
    bool ask(control what, std::span<std::uint8_t> in_and_out);

    bool send(const packet& what);
    /// Sends what the socket did not take before; true: nothing is left.
    bool flush();
    bool receive(packet& into);
    bool gone() const { return gone_; }

private:
    int control_ = -1;
    int packets_ = -1;
    std::uint32_t client_ = 0;
    bool gone_ = false;
    std::deque<packet> waiting_;
};

[[noreturn]] void fatal(const std::string& what);

} // namespace shim
