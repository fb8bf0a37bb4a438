// An open port, the origin of a command's datagrams.
#pragma once

#include "commands.hpp"
#include "session.hpp"

#include <functional>

namespace irpctl {

/// A port of an open HCA, which is captured if --pcap is set.
struct open_port {
    const device& which;
    const ci::channel_adapter& ca;
    const IB_PORT_ATTR& attributes;
};

/// Throws failure unless the link layer is InfiniBand: Ethernet ports have no LID.
void expect_lids(const open_port& at);

/// Opens the HCA, runs `use(port)`, and closes the HCA after success and failure. Throws failure
/// when there is no such port.
asio::awaitable<void> with_port(session& here, const port_choice& wanted,
                                std::function<asio::awaitable<void>(const open_port&)> use);

} // namespace irpctl
