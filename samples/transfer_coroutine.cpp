// Two queue pairs of the built-in software fabric, in a coroutine: send and receive, write, read,
// atomics, and a receive with a deadline. Each transfer is an IRP that is awaited.
#include <ci/async.hpp>
#include <dispatch/machine.hpp>
#include <hca/hca.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

/// One end of a reliable connection, with 64 bytes of memory.
struct end {
    ci::channel_adapter ca;
    ci::protection_domain pd;
    ci::completion_queue cq;
    ci::memory_region mr;
    ci::queue_pair qp;
    std::array<std::byte, 64> bytes{};

    asio::awaitable<void> open(ib_guid_t guid) {
        ca = co_await ci::open_ca(HcaFromGuid(guid));
        pd = co_await ci::allocate_pd(ca);
        cq = co_await ci::create_cq(ca, 16);
        mr = co_await ci::register_mr(pd, bytes, IB_AC_LOCAL_WRITE | IB_AC_REMOTE);
        ib_qp_create_t wanted{};
        wanted.qp_type = IB_QPT_RELIABLE_CONN;
        wanted.sq_depth = wanted.rq_depth = 4;
        wanted.sq_sge = wanted.rq_sge = 1;
        qp = co_await ci::create_qp(pd, cq, cq, wanted);
    }
    asio::awaitable<void> connect(const end& peer) const {
        ci::rtr_attributes path;
        path.av.port_num = 1;
        path.av.dlid = (co_await ci::query_port(peer.ca, 1))->Lid;
        path.dest_qp = peer.qp.number();
        co_await ci::modify_qp(qp, ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE}));
        co_await ci::modify_qp(qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path));
        co_await ci::modify_qp(qp, ci::to_rts(IB_QPT_RELIABLE_CONN));
    }
    ci::registered_buffer buffer(std::size_t count = 64) {
        return {mr, std::span(bytes).first(count)};
    }
    ci::remote_buffer remote() const {
        return {reinterpret_cast<ULONG_PTR>(bytes.data()), mr.rkey()};
    }
    const char* text() const { return reinterpret_cast<const char*>(bytes.data()); }
    void set_text(const char* text) {
        std::strncpy(reinterpret_cast<char*>(bytes.data()), text, bytes.size() - 1);
    }
};

asio::awaitable<int> transfer(ib_guid_t first, ib_guid_t second) {
    end one;
    end two;
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
    co_return error == boost::system::errc::timed_out&& before == 40 ? 0 : 1;
}

} // namespace

int main() {
    irpverbs::dispatch::asio_machine machine;
    const irpverbs::dispatch::machine::scope inside(machine);
    const irpverbs::hca::attachment fabric("software:");
    const auto guids = irpverbs::hca::guids();
    return asio::co_spawn(machine.context(), transfer(guids[0], guids[1]), asio::use_future).get();
}
