// Transfers between two HCAs of the fabric, as awaited calls.
#include "mad_client.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <ci/async.hpp>
#include <hca/software.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using irpverbs::testing::attached;
using irpverbs::testing::run_to_end;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

boost::system::error_code code(NTSTATUS status) { return dispatch::make_error_code(status); }

/// One end of a connection, with 64 bytes of memory.
struct end {
    ci::channel_adapter ca;
    ci::protection_domain pd;
    ci::completion_queue cq;
    ci::memory_region mr;
    ci::queue_pair qp;
    std::array<std::byte, 64> bytes{};

    asio::awaitable<void> open(DEVICE_OBJECT* fdo, ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        ca = co_await ci::open_ca(fdo);
        pd = co_await ci::allocate_pd(ca);
        cq = co_await ci::create_cq(ca, 64);
        mr = co_await ci::register_mr(pd, bytes, IB_AC_LOCAL_WRITE | IB_AC_REMOTE);
        ib_qp_create_t wanted{};
        wanted.qp_type = type;
        wanted.sq_depth = wanted.rq_depth = 8;
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
    ci::registered_buffer buffer(std::size_t first = 0, std::size_t count = 64) {
        return {mr, std::span(bytes).subspan(first, count)};
    }
    ci::remote_buffer remote(std::size_t first = 0) const {
        return {reinterpret_cast<ULONG_PTR>(&bytes[first]), mr.rkey()};
    }
    void fill(int value) { bytes.fill(static_cast<std::byte>(value)); }
    bool has(int value) const {
        return std::ranges::all_of(
            bytes, [=](std::byte each) { return each == static_cast<std::byte>(value); });
    }
};

struct connection {
    end one;
    end two;

    asio::awaitable<void> open(const attached& hcas) {
        co_await one.open(hcas.fdo(0));
        co_await two.open(hcas.fdo(1));
        co_await one.connect(two);
        co_await two.connect(one);
    }
};

class FabricTransfers : public irpverbs::testing::BothMachines {
protected:
    void run(asio::awaitable<void> (*body)(const attached& hcas, connection& between)) {
        const attached hcas;
        connection between;
        run_to_end(machine(), [&]() -> asio::awaitable<void> {
            co_await between.open(hcas);
            co_await body(hcas, between);
            between = {};
        });
    }
};

asio::awaitable<void> send_and_receive(const attached&, connection& between) {
    using namespace asio::experimental::awaitable_operators;
    auto& [one, two] = between;
    one.fill(7);
    const IB_WC received = co_await (two.qp.recv(two.buffer(), asio::use_awaitable) &&
                                     one.qp.send(one.buffer(), {}, asio::use_awaitable));
    EXPECT_EQ(received.ByteCount, 64u);
    EXPECT_TRUE(two.has(7));
}
TEST_P(FabricTransfers, Send_CompletesTheReceive) { run(send_and_receive); }

asio::awaitable<void> send_with_options(const attached&, connection& between) {
    using namespace asio::experimental::awaitable_operators;
    auto& [one, two] = between;
    const ci::send_options options{.fence = true, .solicited = true, .immediate = 0x01020304};
    const IB_WC received = co_await (two.qp.recv({}, asio::use_awaitable) &&
                                     one.qp.send({}, options, asio::use_awaitable));
    EXPECT_EQ(received.ByteCount, 0u);
    EXPECT_NE(received.Flags & IB_WC_IMMEDIATE_PRESENT, 0u);
    EXPECT_EQ(received.Immediate, 0x01020304u);
}
TEST_P(FabricTransfers, SendWithImmediateAndWithoutData_Arrives) { run(send_with_options); }

asio::awaitable<void> write_and_read(const attached&, connection& between) {
    auto& [one, two] = between;
    one.fill(1);
    co_await one.qp.write(one.buffer(), two.remote());
    EXPECT_TRUE(two.has(1));
    two.fill(2);
    co_await one.qp.read(one.buffer(), two.remote());
    EXPECT_TRUE(one.has(2));
}
TEST_P(FabricTransfers, WriteAndRead_MoveBytes) { run(write_and_read); }

asio::awaitable<void> count_atomically(const attached&, connection& between) {
    auto& [one, two] = between;
    const auto result = one.buffer(0, 8);
    EXPECT_EQ(co_await one.qp.fetch_add(result, two.remote(8), 5), 0u);
    EXPECT_EQ(co_await one.qp.compare_swap(result, two.remote(8), 5, 9), 5u);
    EXPECT_EQ(co_await one.qp.compare_swap(result, two.remote(8), 5, 11), 9u);
    EXPECT_EQ(co_await one.qp.fetch_add(result, two.remote(8), 0), 9u);
    co_await one.qp.atomic_write(two.remote(8), 77);
    EXPECT_EQ(co_await one.qp.fetch_add(result, two.remote(8), 0), 77u);
}
TEST_P(FabricTransfers, Atomics_ReturnTheNumberBefore) { run(count_atomically); }

asio::awaitable<void> use_wrong_key(const attached&, connection& between) {
    auto& [one, two] = between;
    ci::remote_buffer wrong = two.remote();
    wrong.rkey ^= 0x100;
    const auto [error] = co_await one.qp.write(one.buffer(), wrong, {}, as_tuple);
    EXPECT_EQ(error, code(STATUS_ACCESS_DENIED));
    ib_send_wr_t late_request{};
    late_request.wr_id = 77;
    late_request.wr_type = WR_SEND;
    const auto [late, entry] = co_await ci::transfer(one.qp, late_request, as_tuple);
    EXPECT_EQ(late, code(STATUS_CANCELLED));
    EXPECT_EQ(entry.Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(entry.WrId, 77u);
}
TEST_P(FabricTransfers, WrongKey_IsAccessDeniedAndFlushesLaterOnes) { run(use_wrong_key); }

// The memory of a transfer that has ended by its deadline is not written any more. A deadline that
// passes before the post, as on a busy machine, leaves the queue pair as it is.
asio::awaitable<void> wait_in_vain(const attached&, connection& between) {
    auto& [one, two] = between;
    IB_WC entry{};
    for (int tries = 0; tries < 100 && entry.Status != IB_WC_FLUSHED; ++tries) {
        boost::system::error_code error;
        std::tie(error, entry) = co_await two.qp.recv(two.buffer(), irp::within(1ms, as_tuple));
        EXPECT_EQ(error, code(STATUS_IO_TIMEOUT));
    }
    EXPECT_EQ(entry.Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ((co_await ci::query_qp(two.qp))->state, IB_QPS_ERROR);
    one.fill(9);
    const auto [refused] = co_await one.qp.write(one.buffer(), two.remote(), {}, as_tuple);
    EXPECT_EQ(refused, code(STATUS_IO_TIMEOUT));
    EXPECT_TRUE(two.has(0));
}
TEST_P(FabricTransfers, Deadline_FlushesTheQueuePair) { run(wait_in_vain); }

asio::awaitable<void> cancel_from_outside(const attached&, connection& between) {
    asio::cancellation_signal stop;
    std::optional<boost::system::error_code> ended;
    between.two.qp.recv(
        between.two.buffer(),
        asio::bind_cancellation_slot(
            stop.slot(), [&](boost::system::error_code error, const IB_WC&) { ended = error; }));
    stop.emit(asio::cancellation_type::all);
    while (!ended)
        co_await ci::query_port(between.two.ca, 1);
    EXPECT_EQ(*ended, code(STATUS_CANCELLED));
}
TEST_P(FabricTransfers, CancellationSlot_EndsTheTransfer) { run(cancel_from_outside); }

// The region is deregistered when the transfer that it is lent to has completed, not before.
asio::awaitable<void> drop_region(const attached&, connection& between) {
    auto& [one, two] = between;
    std::optional<boost::system::error_code> ended;
    two.qp.recv(two.buffer(),
                [&](boost::system::error_code error, const IB_WC&) { ended = error; });
    two.mr = {};
    one.fill(3);
    co_await one.qp.send(one.buffer());
    while (!ended)
        co_await ci::query_port(two.ca, 1);
    EXPECT_FALSE(*ended);
    EXPECT_TRUE(two.has(3));
}
TEST_P(FabricTransfers, RegionThatIsDropped_StaysUntilTheTransferEnds) { run(drop_region); }

asio::awaitable<void> drop_queue_pair(const attached&, connection& between) {
    auto& [one, two] = between;
    std::optional<boost::system::error_code> ended;
    two.qp.recv(two.buffer(),
                [&](boost::system::error_code error, const IB_WC&) { ended = error; });
    co_await ci::destroy_qp(two.qp);
    while (!ended)
        co_await ci::query_port(two.ca, 1);
    EXPECT_EQ(*ended, code(STATUS_CANCELLED));
}
TEST_P(FabricTransfers, DestroyedQueuePair_CancelsItsTransfers) { run(drop_queue_pair); }

asio::awaitable<void> pull_the_cable(const attached& hcas, connection& between) {
    auto& [one, two] = between;
    one.fill(4);
    HcaSoftwareSetLink(hcas.guid(1), 1, FALSE);
    const auto [error] = co_await one.qp.write(one.buffer(), two.remote(), {}, as_tuple);
    EXPECT_EQ(error, code(STATUS_IO_TIMEOUT));
    EXPECT_TRUE(two.has(0));
    HcaSoftwareSetLink(hcas.guid(1), 1, TRUE);
}
TEST_P(FabricTransfers, LostPath_IsIoTimeout) { run(pull_the_cable); }

asio::awaitable<void> send_datagram(const attached& hcas, connection& between) {
    using namespace asio::experimental::awaitable_operators;
    end one;
    end two;
    co_await one.open(hcas.fdo(0), IB_QPT_UNRELIABLE_DGRM);
    co_await two.open(hcas.fdo(1), IB_QPT_UNRELIABLE_DGRM);
    for (const ci::queue_pair* each : {&one.qp, &two.qp}) {
        co_await ci::modify_qp(*each, ci::to_init(IB_QPT_UNRELIABLE_DGRM, {.qkey = 0x1234}));
        co_await ci::modify_qp(*each, ci::to_rtr(IB_QPT_UNRELIABLE_DGRM));
        co_await ci::modify_qp(*each, ci::to_rts(IB_QPT_UNRELIABLE_DGRM));
    }
    ib_av_attr_t way{};
    way.port_num = 1;
    way.dlid = (co_await ci::query_port(between.two.ca, 1))->Lid;
    const ci::address_vector av = co_await ci::create_av(one.pd, way);
    one.fill(6);
    const IB_WC received = co_await (two.qp.recv(two.buffer(), asio::use_awaitable) &&
                                     one.qp.send_to({av, two.qp.number(), 0x1234, 0},
                                                    one.buffer(0, 16), {}, asio::use_awaitable));
    EXPECT_EQ(received.ByteCount, 56u);
    EXPECT_EQ(received.SourceQp, one.qp.number());
    EXPECT_EQ(two.bytes[40], std::byte{6});
}
TEST_P(FabricTransfers, Datagram_ArrivesBehindTheGrh) { run(send_datagram); }

IRPVERBS_ON_BOTH_MACHINES(FabricTransfers);

} // namespace
