// Events of a subnet, reported by its subnet administrator.
#pragma once

#include "sa_session.hpp"

namespace irpctl {

struct subnet_event {
    std::string what;
    std::string about; // the port or group; empty: the event concerns none
};

/// Reports the events of the port's subnet until it is cancelled. Calls `ready` when the session is
/// open. Both functions may throw.
asio::awaitable<void> watch_subnet(session& here, const open_port& at, std::function<void()> ready,
                                   std::function<void(const subnet_event&)> report);

} // namespace irpctl
