// The connection to ibsim: packets and control messages over abstract unix sockets.
#pragma once

#include <mad.hpp>

#include <deque>
#include <span>
#include <string>

namespace shim {

using namespace irpverbs::umad; // fields of datagrams, RMPP

/// ibsim's layout; integers are in network order unless noted.
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
    /// Joins the simulation of IBSIM_SOCKNAME as the node SIM_HOST; ends the program on failure.
    ibsim_link();

    std::uint32_t client() const { return client_; }
    int descriptor() const { return packets_; }

    /// Sends a control request, and receives the response in place; false if ibsim refused or is
    /// gone.
    bool ask(control what, std::span<std::uint8_t> in_and_out);

    bool send(const packet& what);
    /// Sends the packets that the socket did not accept before; true if none is left.
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
