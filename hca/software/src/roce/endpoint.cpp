#include "endpoint.hpp"

#include "ethernet_port.hpp"

#include <dispatch/machine.hpp>

namespace irpverbs::hca_software::roce {

bool endpoint::start() {
    const auto readable = [](void* context) {
        auto& its = *static_cast<endpoint*>(context);
        std::array<arrival, most_arrivals> arrived;
        its.owner.receive(std::span(arrived).first(its.socket.receive(arrived.data())));
        return true;
    };
    watch =
        dispatch::watch_readable(dispatch::machine::current(), socket.descriptor(), readable, this);
    return watch != nullptr;
}

} // namespace irpverbs::hca_software::roce
