/// A client of the echo server, in a coroutine.
#pragma once

#include "connected_end.hpp"

#include <cm/async.hpp>

#include <string>
#include <vector>

namespace samples {

namespace cm = irpverbs::cm;

/// Connects to a service of the port with that GID, on a path that the SA returns; returns what
/// came back.
inline asio::awaitable<std::vector<std::string>>
ask(ib_guid_t hca, ib_gid_t server, ib_svc_id_t service, std::vector<std::string> messages) {
    connected_end end;
    co_await end.open(hca);
    cm::manager manager = co_await cm::open(end.ca);
    cm::connected connection =
        co_await cm::connect(manager, end.qp, cm::connect_options(service, server));
    for (std::string& each : messages) {
        end.set_text(each.c_str());
        co_await end.qp.send(end.buffer());
        end.bytes = {};
        co_await end.qp.recv(end.buffer());
        each = end.text();
    }
    co_await cm::disconnect(connection.link);
    co_await connection.link.async_close();
    co_await manager.async_close();
    co_await end.close();
    co_return messages;
}

} // namespace samples
