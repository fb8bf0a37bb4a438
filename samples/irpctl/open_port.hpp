// A port to work from.
#pragma once

#include "commands.hpp"
#include "session.hpp"

#include <functional>

namespace irpctl {

/// Of an HCA that is open, and captured if a capture was asked for.
struct open_port {
    const device& which;
    const ci::channel_adapter& ca;
    const IB_PORT_ATTR& attributes;
};

/// Throws failure where the link layer is another than InfiniBand: nobody has a LID there.
void expect_lids(const open_port& at);

/// Opens the HCA, has `use(port)` run, and closes it, whatever came of that. Throws failure when
/// there is no such port.
asio::awaitable<void> with_port(session& here, const port_choice& wanted,
                                std::function<asio::awaitable<void>(const open_port&)> use);

} // namespace irpctl
