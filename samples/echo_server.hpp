/// A server that accepts one connection and sends each message back, in coroutines.
#pragma once

#include "connected_end.hpp"

#include <cm/async.hpp>

namespace samples {

namespace cm = irpverbs::cm;

class echo_server {
public:
    asio::awaitable<void> listen(ib_guid_t hca, ib_svc_id_t service) {
        co_await end_.open(hca);
        manager_ = co_await cm::open(end_.ca);
        listener_ = co_await cm::listen(manager_, service);
    }
    /// Ends when the peer has disconnected; returns the number of messages.
    asio::awaitable<int> serve() {
        cm::incoming request = co_await listener_.next();
        co_await cm::accept(request.link, end_.qp, cm::private_data("echo server"));
        int messages = 0;
        for (;; ++messages) { // a disconnect flushes the queue pair
            const auto [error, received] =
                co_await end_.qp.recv(end_.buffer(), asio::as_tuple(asio::use_awaitable));
            if (error) break;
            co_await end_.qp.send(end_.buffer(received.ByteCount));
        }
        co_await request.link.async_close();
        co_await listener_.async_close();
        co_await manager_.async_close();
        co_await end_.close();
        co_return messages;
    }

private:
    connected_end end_;
    cm::manager manager_;
    cm::listener listener_;
};

} // namespace samples
