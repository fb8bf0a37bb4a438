#include "open_port.hpp"

#include "capture_file.hpp"

#include <fmt/format.h>

namespace irpctl {

void expect_lids(const open_port& at) {
    if (at.attributes.LinkLayer != IB_LINK_LAYER_ETHERNET) return;
    throw failure(
        fmt::format("{} port {} is an Ethernet port, which has no LID; irpctl port shows the "
                    "link layer",
                    at.which.name, at.attributes.PortNumber));
}

asio::awaitable<void> with_port(session& here, const port_choice& wanted,
                                std::function<asio::awaitable<void>(const open_port&)> use) {
    const device& which = here.find(wanted.device);
    co_await with_adapter(here, which, [&](const ci::channel_adapter& ca) -> asio::awaitable<void> {
        const ci::ca_attributes all = co_await ci::query_ca(ca, asio::use_awaitable);
        const std::span<const IB_PORT_ATTR> ports = ci::ports(*all);
        if (wanted.number > ports.size())
            throw failure(
                fmt::format("{} has no port {}, the last one is {}; irpctl devices lists the ports",
                            which.name, wanted.number, ports.size()));
        if (here.capture != nullptr) here.capture->add(which, *all);
        co_await use({which, ca, ports[wanted.number - 1u]});
    });
}

} // namespace irpctl
