// Messages that no client of ours sends: the daemon refuses them, and serves the others.
#include "raw_client.hpp"

#include <ci/support/post_ring.hpp>
#include <ci/support/shared_memory.hpp>

#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
namespace wire = ci::wire;

constexpr UCHAR unknown_verb = 0xEE;

/// Maps the rings of a client and lets it write what no client writes.
struct hostile_posts : raw_ca {
    using ring = ci::crossing::post_ring;

    explicit hostile_posts(test_daemon& serving)
        : raw_ca(serving),
          mapped(ci::detail::shared_memory::map(received(wire::open_descriptor::posts_of_client),
                                                ci::detail::shared_memory::others::may_write)) {}
    ci::crossing::post_rings::client_part& parts() {
        return *reinterpret_cast<ci::crossing::post_rings::client_part*>(mapped.bytes().data());
    }
    ring::client_part& part() { return parts().sends; }
    void wake() { send(wire::header{wire::kind::bell, 0, {}, 0, 0}); }

    const ci::detail::shared_memory mapped;
};

TEST(Protocol, RingWithoutMessages_ClosesTheConnection) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca other;
    hostile_posts counts(serving);
    counts.part().produced.store(~std::uint64_t{0}, std::memory_order_relaxed);
    counts.wake();
    EXPECT_TRUE(counts.is_closed());
    hostile_posts sizes(serving);
    sizes.part().bytes[1] = std::byte{0xFF};
    sizes.part().produced.store(64, std::memory_order_relaxed);
    sizes.wake();
    EXPECT_TRUE(sizes.is_closed());
    hostile_posts empty(serving); // a message without a header
    empty.part().produced.store(8, std::memory_order_relaxed);
    empty.wake();
    EXPECT_TRUE(empty.is_closed());
    EXPECT_EQ(serving.counters().Violations, 3u);
    EXPECT_EQ(serving.counters().Connections, 1u);
}

TEST(Protocol, MemoryOfTheDaemon_CannotBeWritten) {
    test_daemon serving;
    raw_ca reader(serving);
    using ci::detail::shared_memory;
    const auto& file = reader.received(wire::open_descriptor::posts_of_daemon);
    EXPECT_TRUE(shared_memory::map(file, shared_memory::others::may_read));
    EXPECT_FALSE(shared_memory::map(file, shared_memory::others::may_write));
    EXPECT_NE(ftruncate(file.get(), 0), 0);
}

TEST(Protocol, PollOrArmOfAQueueWithARing_IsRefused) {
    test_daemon serving;
    raw_ca client(serving);
    const auto queue = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4)).information;
    EXPECT_EQ(client.status_of(request_of(HCA_MN_POLL_CQ, queue, 1)),
              STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_ARM_CQ, queue, IB_CQ_ARM_NEXT)),
              STATUS_INVALID_DEVICE_REQUEST);
}

TEST(Protocol, OtherVersionOrPointers_AreRefused) {
    test_daemon serving;
    wire::hello other = raw_client::good_hello();
    other.version = wire::version + 1;
    EXPECT_EQ(raw_client(serving.socket()).greet(other), STATUS_REVISION_MISMATCH);
    other = raw_client::good_hello();
    other.pointer_size = 4;
    EXPECT_EQ(raw_client(serving.socket()).greet(other), STATUS_REVISION_MISMATCH);
    EXPECT_EQ(serving.counters().Refused, 2u);
}

TEST(Protocol, NoHelloOrWrongMagic_ClosesTheConnection) {
    test_daemon serving;
    raw_client silent(serving.socket());
    silent.send(request_of(HCA_MN_OPEN_CA, 1));
    EXPECT_TRUE(silent.is_closed());
    raw_client stranger(serving.socket());
    wire::hello wrong = raw_client::good_hello();
    wrong.magic = 1;
    stranger.send(wrong);
    EXPECT_TRUE(stranger.is_closed());
    EXPECT_EQ(serving.counters().Violations, 2u);
}

TEST(Protocol, ShortOrUnknownMessage_ClosesTheConnection) {
    test_daemon serving;
    raw_client shorter(serving.socket());
    shorter.greet();
    shorter.send(std::uint32_t{1});
    EXPECT_TRUE(shorter.is_closed());
    raw_client unknown(serving.socket());
    unknown.greet();
    unknown.send(wire::header{static_cast<wire::kind>(99), 0, {}, 0, 0});
    EXPECT_TRUE(unknown.is_closed());
    raw_client dirty(serving.socket());
    dirty.greet();
    dirty.send(wire::list{{wire::kind::list, 0, {1}, 0, 0}, {}, 0});
    EXPECT_TRUE(dirty.is_closed());
    raw_client endless(serving.socket()); // a name without an end
    endless.greet();
    wire::list longest{{wire::kind::list, 0, {}, 0, 0}, {}, 0};
    longest.host.fill('n');
    endless.send(longest);
    EXPECT_TRUE(endless.is_closed());
}

two_requests two_queries(std::uint64_t ca) {
    return {with_id(request_of(HCA_MN_QUERY_CA, ca), 21),
            with_id(request_of(HCA_MN_QUERY_CA, ca), 22)};
}

TEST(Protocol, RequestsOfOnePacket_HaveTheirRepliesInOnePacket) {
    test_daemon serving;
    raw_ca client(serving);
    const std::size_t before = client.packets();
    client.send(two_queries(client.handle));
    const std::vector<wire::reply> replies = receive_all(client, 2);
    EXPECT_EQ(replies[0].head.id, 21u);
    EXPECT_EQ(replies[1].head.id, 22u);
    EXPECT_EQ(client.packets() - before, 1u);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle)),
              replies[1].status); // which stands alone
}

TEST(Protocol, MalformedPacket_ClosesTheConnection) {
    test_daemon serving;
    ULONG violations = 0;
    for (const std::size_t next :
         {sizeof(wire::request) + 4, sizeof(two_requests), sizeof(two_requests) + 8}) {
        raw_ca client(serving);
        two_requests wrong = two_queries(client.handle);
        wrong.first.head.next = static_cast<std::uint32_t>(next);
        client.send(wrong);
        EXPECT_TRUE(client.is_closed()) << next;
        EXPECT_EQ(serving.counters().Violations, ++violations);
    }
    raw_ca client(serving); // the first message is well-formed, and answered
    two_requests wrong = two_queries(client.handle);
    wrong.first.head.next += 8;
    client.send(wrong);
    EXPECT_EQ(receive_all(client, 1)[0].head.id, 21u);
    EXPECT_TRUE(client.is_closed());
    EXPECT_EQ(serving.counters().Violations, ++violations);
}

TEST(Protocol, ListOfAHost_HasItsHcasAlone) {
    test_daemon serving;
    raw_client client(serving.socket());
    client.greet();
    const auto count_of = [&](std::string_view host) {
        wire::list asked{{wire::kind::list, 0, {}, 0, 0}, {}, 0};
        std::ranges::copy(host, asked.host.begin());
        client.send(asked);
        wire::listing made{};
        EXPECT_TRUE(client.receive(made));
        return made.count;
    };
    EXPECT_EQ(count_of(""), 4u);
    EXPECT_EQ(count_of("host2"), 1u);
    EXPECT_EQ(count_of("host"), 0u);
}

TEST(Protocol, UnknownVerbOrSize_FailsAlone) {
    test_daemon serving;
    raw_ca client(serving);
    EXPECT_EQ(client.status_of(request_of(unknown_verb, client.handle)),
              STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_TRANSFER, client.handle)),
              STATUS_INVALID_DEVICE_REQUEST);
    wire::request longer = request_of(HCA_MN_QUERY_CA, client.handle, 100);
    longer.value_size = 8;
    EXPECT_EQ(client.status_of(longer), STATUS_INFO_LENGTH_MISMATCH);
    longer = request_of(HCA_MN_CREATE_CQ, client.handle, 4);
    longer.user_out = 1u << 30;
    EXPECT_EQ(client.status_of(longer), STATUS_INFO_LENGTH_MISMATCH);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, 100)),
              STATUS_BUFFER_OVERFLOW);
}

TEST(Protocol, HandleOfAnotherTypeGenerationOrConnection_IsInvalid) {
    test_daemon serving;
    raw_ca client(serving);
    raw_ca other(serving);
    const wire::reply made = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4));
    ASSERT_EQ(made.status, STATUS_SUCCESS);
    const std::uint64_t cq = made.information;
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_PORT, cq, 100)), STATUS_INVALID_HANDLE);
    EXPECT_EQ(other.status_of(request_of(HCA_MN_QUERY_CQ, cq, 100)), STATUS_INVALID_HANDLE);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_DESTROY_CQ, cq)), STATUS_SUCCESS);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_DESTROY_CQ, cq)), STATUS_INVALID_HANDLE);
    const wire::reply again = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4));
    EXPECT_NE(again.information, cq);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CQ, cq, 100)), STATUS_INVALID_HANDLE);
}

TEST(Protocol, SecondOpen_IsRefused) {
    test_daemon serving;
    raw_ca client(serving);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_OPEN_CA, first_hca(serving))),
              STATUS_INVALID_DEVICE_STATE);
    raw_client other(serving.socket());
    other.greet();
    EXPECT_EQ(other.status_of(request_of(HCA_MN_OPEN_CA, 12345)), STATUS_NO_SUCH_DEVICE);
    EXPECT_EQ(other.status_of(request_of(HCA_MN_QUERY_CA, 1, 100)), STATUS_INVALID_HANDLE);
}

TEST(Protocol, BusyParent_OutlivesItsDestroy) {
    test_daemon serving;
    raw_ca client(serving);
    client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4));
    EXPECT_EQ(client.status_of(request_of(HCA_MN_CLOSE_CA, client.handle)), STATUS_DEVICE_BUSY);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, 100)),
              STATUS_BUFFER_OVERFLOW);
}

TEST(Protocol, ObjectsBeyondTheQuota_AreRefused) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxObjects = 3;
    limits.MaxObjectsOfUser = 4;
    test_daemon serving(&limits);
    raw_ca client(serving);
    const wire::reply first = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4));
    EXPECT_EQ(client.status_of(request_of(HCA_MN_CREATE_CQ, client.handle, 4)), STATUS_SUCCESS);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_CREATE_CQ, client.handle, 4)),
              STATUS_INSUFFICIENT_RESOURCES);
    raw_ca other(serving);
    EXPECT_EQ(other.status_of(request_of(HCA_MN_CREATE_CQ, other.handle, 4)),
              STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_DESTROY_CQ, first.information)), STATUS_SUCCESS);
    EXPECT_EQ(other.status_of(request_of(HCA_MN_CREATE_CQ, other.handle, 4)), STATUS_SUCCESS);
}

TEST(Protocol, ConnectionsBeyondTheQuota_AreClosed) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxConnections = 1;
    test_daemon serving(&limits);
    raw_ca client(serving);
    raw_client other(serving.socket());
    EXPECT_TRUE(other.is_closed());
}

TEST(Protocol, WaitsBeyondTheLimit_CloseTheConnection) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxWaits = 2;
    test_daemon serving(&limits);
    {
        raw_ca client(serving);
        for (int i = 0; i < 3; ++i)
            client.send(request_of(HCA_MN_GET_CA_FATAL_EVENT, client.handle));
        EXPECT_TRUE(client.is_closed());
    }
    EXPECT_TRUE(serving.becomes_idle());
    EXPECT_EQ(serving.counters().Violations, 1u);
}

TEST(Protocol, CancelOfAWait_CompletesIt) {
    test_daemon serving;
    raw_ca client(serving);
    client.send(request_of(HCA_MN_GET_CA_FATAL_EVENT, client.handle));
    client.send(wire::header{wire::kind::cancel, 0, {}, 0, 77}); // an id that nothing has
    client.send(wire::header{wire::kind::cancel, 0, {}, 0, 5});
    wire::reply made{};
    ASSERT_TRUE(client.receive(made));
    EXPECT_EQ(made.status, STATUS_CANCELLED);
}

TEST(Protocol, UnreadReplies_AreKeptAndDropped) {
    test_daemon serving;
    {
        raw_ca client(serving);
        for (int i = 0; i < 2000; ++i)
            client.send(request_of(HCA_MN_QUERY_CA, client.handle, 65536));
    }
    EXPECT_TRUE(serving.becomes_idle());
}

} // namespace
