#include "progress.hpp"

#include "as_result.hpp"

#include "session.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace irpctl {

namespace {

using namespace asio::experimental::awaitable_operators;

asio::awaitable<void> show(const std::function<std::string()>& line) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(std::chrono::seconds(1));
    bool shown = false;
    for (;;) {
        const auto [stopped] = co_await timer.async_wait(as_result);
        if (stopped) break;
        fmt::print(stderr, "\r{}\033[K", line());
        shown = true;
        timer.expires_after(std::chrono::milliseconds(500));
    }
    if (shown) fmt::print(stderr, "\r\033[K");
}

} // namespace

asio::awaitable<void> while_showing(std::function<std::string()> line, asio::awaitable<void> work) {
    if (isatty(STDERR_FILENO) == 0) {
        co_await std::move(work);
        co_return;
    }
    const auto ended = co_await (outcome_of(std::move(work)) || show(line));
    if (ended.index() != 0) co_return; // both were cancelled
    if (const std::exception_ptr failed = std::get<0>(ended)) std::rethrow_exception(failed);
}

} // namespace irpctl
