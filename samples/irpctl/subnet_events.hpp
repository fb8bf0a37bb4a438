// Events of a subnet, from its subnet administrator.
#pragma once

#include "sa_session.hpp"

namespace irpctl {

struct subnet_news {
    std::string what;
    std::string about; // whom; empty: nobody in particular
};

/// Tells of the events of the port's subnet until it is called off; `ready` when the SA is known.
/// Both may throw.
asio::awaitable<void> watch_subnet(session& here, const open_port& at, std::function<void()> ready,
                                   std::function<void(const subnet_news&)> tell);

} // namespace irpctl
