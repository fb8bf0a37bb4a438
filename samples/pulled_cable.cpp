// A write while the cable is pulled: back in time, retries carry the write; too late, the write
// ends with a status, and the two ends connect anew.
#include "connected_end.hpp"

#include <hca/software.h>

#include <chrono>
#include <cstdio>

namespace {

using namespace samples;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

/// Pulls the cable of an HCA's first port, or plugs it in.
void set_link(ib_guid_t guid, bool up) { HcaSoftwareSetLink(guid, 1, up ? TRUE : FALSE); }

asio::awaitable<void> plug_in_after(ib_guid_t guid, std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
    set_link(guid, true);
}

/// Writes a text, prints the result, and returns the error.
asio::awaitable<boost::system::error_code> write(const char* text, connected_end& from,
                                                 const connected_end& to) {
    from.set_text(text);
    const auto [error] = co_await from.qp.write(from.buffer(), to.remote(), {}, as_result);
    std::printf("   write \"%s\": %s; the peer has \"%s\"\n", text,
                error ? error.message().c_str() : "done", to.text());
    co_return error;
}

asio::awaitable<int> pull_and_plug_in(ib_guid_t first, ib_guid_t second) {
    connected_end one;
    connected_end two;
    co_await one.open(first);
    co_await two.open(second);
    co_await one.connect(two);
    co_await two.connect(one);
    int failures = 0;

    std::printf("   connected: queue pairs 0x%x and 0x%x\n", one.qp.number(), two.qp.number());
    if (co_await write("first", one, two)) ++failures;

    std::printf("   the cable is pulled for 20 ms: retries\n");
    set_link(second, false);
    asio::co_spawn(co_await asio::this_coro::executor, plug_in_after(second, 20ms), asio::detached);
    if (co_await write("second", one, two)) ++failures;

    std::printf("   the cable is pulled\n");
    set_link(second, false);
    if (co_await write("third", one, two) != boost::system::errc::timed_out) ++failures;

    std::printf("   the cable is plugged in, and the ends connect anew\n");
    set_link(second, true);
    co_await one.connect(two);
    co_await two.connect(one);
    if (co_await write("fourth", one, two)) ++failures;
    co_await one.close();
    co_await two.close();
    co_return failures;
}

} // namespace

int main() { return samples::run_with_two_hcas(pull_and_plug_in); }
