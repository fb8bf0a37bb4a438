// Clients that use the daemon as no client of ours does: they get what is theirs, and harm no
// other.
#include "raw_client.hpp"
#include "surviving_peer.hpp"

#include <irp/verifier.hpp>
#include <support/findings.hpp>

#include <fcntl.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

// ---- replies, buffers and descriptors

// Most find no room in the socket.
TEST(HostileClient, RepliesThatAreNotRead_ArriveLater) {
    test_daemon serving;
    raw_ca client(serving);
    constexpr std::size_t count = 600;
    for (std::size_t i = 0; i < count; ++i)
        client.send_all(with_id(request_of(HCA_MN_QUERY_PORT, client.handle, 65536), i + 10));
    const std::vector<wire::reply> seen = receive_all(client, count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(seen[i].head.id, i + 10);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, 100)),
              STATUS_BUFFER_OVERFLOW);
}

TEST(HostileClient, RepliesOfPacketsThatAreNotRead_ArriveLater) {
    test_daemon serving;
    raw_ca client(serving);
    constexpr std::size_t count = 2400;
    const auto query = [&](std::size_t id) {
        return with_id(request_of(HCA_MN_QUERY_CA, client.handle, 4096), id);
    };
    for (std::size_t i = 0; i < count; i += 2)
        client.send_all(two_requests(query(i + 10), query(i + 11)));
    const std::vector<wire::reply> seen = receive_all(client, count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(seen[i].head.id, i + 10);
}

TEST(HostileClient, RoomBeyondAllLimits_IsCut) {
    test_daemon serving;
    raw_ca client(serving);
    for (const std::uint64_t room : {~std::uint64_t{0}, std::uint64_t{1} << 60})
        EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, room)),
                  STATUS_SUCCESS);
}

TEST(HostileClient, ValueOfAnotherSize_FailsAlone) {
    test_daemon serving;
    raw_ca client(serving);
    wire::request query = request_of(HCA_MN_QUERY_CA, client.handle, 65536);
    query.value_size = 8;
    EXPECT_EQ(client.status_of(query, std::uint64_t{0}), STATUS_INFO_LENGTH_MISMATCH);
    wire::request create = request_of(HCA_MN_REGISTER_MR, client.handle);
    create.value_size = 8;
    EXPECT_EQ(client.status_of(create, std::uint64_t{0}), STATUS_INFO_LENGTH_MISMATCH);
}

TEST(HostileClient, CreationsThatFail_KeepNothing) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxObjects = 3;
    test_daemon serving(&limits);
    raw_ca client(serving);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(client.status_of(request_of(HCA_MN_CREATE_CQ, client.handle, 0)),
                  STATUS_INVALID_PARAMETER);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_CREATE_CQ, client.handle, 4)), STATUS_SUCCESS);
    EXPECT_EQ(serving.counters().Objects, 2u);
}

// A daemon that believed it would read a file that blocks, or one of its own.
TEST(HostileClient, DescriptorThatIsNotItsMemory_GivesNoRegions) {
    test_daemon serving;
    raw_client client(serving.socket());
    ci::detail::descriptors passed;
    passed[0] = ci::detail::unique_descriptor(open("/dev/zero", O_RDWR | O_CLOEXEC));
    client.send(raw_client::good_hello(), passed);
    wire::welcome made{};
    EXPECT_TRUE(client.receive(made));
    const wire::reply opened = client.ask(request_of(HCA_MN_OPEN_CA, first_hca(serving)));
    const wire::reply pd =
        client.ask(request_of(HCA_MN_ALLOCATE_PD, opened.information, IB_PDT_NORMAL));
    const ib_mr_create_t region{&made, sizeof(made), IB_AC_LOCAL_WRITE, 0};
    wire::request create = request_of(HCA_MN_REGISTER_MR, pd.information);
    create.value_size = sizeof(region);
    EXPECT_EQ(client.status_of(create, region), STATUS_NOT_SUPPORTED);
}

// Only the daemon's numbers for a client's objects leave it.
TEST(HostileClient, QueriedObjects_AreHandles) {
    test_daemon serving;
    raw_ca client(serving);
    const auto cq = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4)).information;
    const auto pd =
        client.ask(request_of(HCA_MN_ALLOCATE_PD, client.handle, IB_PDT_NORMAL)).information;
    ib_qp_create_t wanted{};
    wanted.h_sq_cq = wanted.h_rq_cq = reinterpret_cast<IB_CQ*>(cq);
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    wire::request create = request_of(HCA_MN_CREATE_QP, pd);
    create.value_size = sizeof(wanted);
    const auto qp = client.ask(create, wanted).information;
    struct {
        wire::reply head;
        ib_qp_attr_t attributes;
    } seen{};
    client.send(request_of(HCA_MN_QUERY_QP, qp, sizeof(seen.attributes)));
    ASSERT_TRUE(client.receive(seen));
    EXPECT_EQ(seen.head.status, STATUS_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(seen.attributes.h_sq_cq), cq);
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(seen.attributes.h_pd), pd);
}

// ---- under the verifier

TEST(HostileClient, CancelsPostsAndEnds_BreakNoRule) {
    const irp::verifier_scope verified("default");
    const findings seen{dispatch::detail::enabled_checks.load()};
    {
        test_daemon serving;
        const client here(serving.uri());
        bystanders others(first_hca());
        for (int i = 0; i < 10; ++i) {
            others.transfer();
            const opened_ca ca;
            verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(ca.get(), irp); });
            verb_call port([&](IRP* irp) { return CiGetCaPortEvent(ca.get(), 1, irp); });
            raw_ca killed(serving);
            for (std::uint64_t id = 10; id < 30; ++id)
                killed.send(with_id(request_of(HCA_MN_GET_CA_FATAL_EVENT, killed.handle), id));
            for (std::uint64_t id = 10; id < 20; ++id)
                killed.send(wire::header{wire::kind::cancel, 0, {}, 0, id});
            for (const wire::reply& each : receive_all(killed, 10))
                EXPECT_EQ(each.status, STATUS_CANCELLED);
            for (verb_call* each : {&fatal, &port}) {
                each->cancel();
                EXPECT_EQ(each->status(), STATUS_CANCELLED);
            }
        }
    }
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
