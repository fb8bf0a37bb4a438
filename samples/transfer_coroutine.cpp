// Two queue pairs of the built-in software fabric, in a coroutine: send and receive, write, read,
// atomics, and a receive with a deadline. Each transfer is an IRP that is awaited.
#include "connected_end.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace samples;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

asio::awaitable<int> transfer(ib_guid_t first, ib_guid_t second) {
    connected_end one;
    connected_end two;
    co_await one.open(first);
    co_await two.open(second);
    co_await one.connect(two);
    co_await two.connect(one);

    one.set_text("sent");
    const IB_WC received = co_await (two.qp.recv(two.buffer(), asio::use_awaitable) &&
                                     one.qp.send(one.buffer(), {}, asio::use_awaitable));
    std::printf("%s: %u bytes\n", two.text(), received.ByteCount);

    one.set_text("written");
    co_await one.qp.write(one.buffer(), two.remote());
    std::printf("%s\n", two.text());

    two.set_text("read");
    co_await one.qp.read(one.buffer(), two.remote());
    std::printf("%s\n", one.text());

    two.bytes = {};
    co_await one.qp.fetch_add(one.buffer(8), two.remote(), 40);
    const auto before = co_await one.qp.compare_swap(one.buffer(8), two.remote(), 40, 42);
    std::printf("was %llu, is %d\n", static_cast<unsigned long long>(before),
                std::to_integer<int>(two.bytes[0]));

    // A receive without a message ends with its deadline, which flushes the queue pair.
    const auto [error, none] = co_await two.qp.recv(
        two.buffer(), irpverbs::irp::within(1ms, asio::as_tuple(asio::use_awaitable)));
    std::printf("%s\n", error.message().c_str());
    co_await one.close();
    co_await two.close();
    co_return error == boost::system::errc::timed_out&& before == 40 ? 0 : 1;
}

} // namespace

int main() { return samples::run_with_two_hcas(transfer); }
