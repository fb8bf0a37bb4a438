// Path migration: how both ends become armed, the loss of a path, requests of the consumer and of
// the peer, and the path that a packet must have come on. Source: IBA 17.2.8.
#include "simulated_pair.hpp"

#include <support/campaign_gtest.hpp>

#include <algorithm>
#include <numeric>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr ib_lid_t first_path = 11;
constexpr ib_lid_t second_path = 22;
constexpr ULONG three_thousand = 3000; // 12 packets

class PathMigration : public ::testing::Test {
protected:
    explicit PathMigration(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) : pair(1, type) {
        for (const auto& each : pair.ends) {
            ib_qp_attr_t& attr = each->attr;
            attr.primary_av.dlid = first_path;
            attr.alternate_av.dlid = second_path;
            attr.primary_av.port_num = attr.primary_port = 1;
            attr.alternate_av.port_num = 2;
            attr.alternate_pkey_index = 3;
            attr.alternate_local_ack_timeout = 10;
            attr.retry_cnt = 2;
        }
        pair.connect();
        std::iota(local.bytes.begin(), local.bytes.end(), UCHAR{1});
    }
    void rearm() {
        for (const auto& each : pair.ends)
            each->engine->enter_migration(IB_APM_REARM);
    }
    /// Rearms both ends, and moves packets in both directions.
    void arm() {
        rearm();
        write();
        if (one.attr.qp_type == IB_QPT_UNRELIABLE_CONN) {
            ib_local_ds_t segment = segment_of(remote, 1);
            EXPECT_EQ(two.send(remote_request(WR_RDMA_WRITE, segment, local)), STATUS_SUCCESS);
            pair.run();
        }
        EXPECT_EQ(one.attr.apm_state, IB_APM_ARMED);
        EXPECT_EQ(two.attr.apm_state, IB_APM_ARMED);
    }
    void post_write() {
        ib_local_ds_t segment = segment_of(local, three_thousand);
        EXPECT_EQ(one.send(remote_request(WR_RDMA_WRITE, segment, remote)), STATUS_SUCCESS);
    }
    /// Executes a write, and returns the status of its completion.
    ULONG write() {
        std::ranges::fill(remote.bytes, UCHAR{0});
        const std::size_t before = one.sent.size();
        post_write();
        pair.run();
        EXPECT_EQ(one.sent.size(), before + 1);
        return one.sent.empty() ? ~0u : one.sent.back().Status;
    }
    bool has_arrived() const {
        return std::equal(local.bytes.begin(), local.bytes.begin() + three_thousand,
                          remote.bytes.begin());
    }
    static long count(const simulated_end& of, IB_ASYNC_EVENT event) {
        return std::ranges::count(of.events, event);
    }
    static long migrations(const simulated_end& of) { return count(of, IB_AE_PATH_MIGRATED); }
    static bool is_on(const simulated_end& of, ib_lid_t path, ib_apm_state_t state) {
        return of.attr.primary_av.dlid == path && of.attr.apm_state == state;
    }
    /// A write of two that one expects, without data.
    packet next_of_two(bool migrated) const {
        packet made;
        made.opcode = transport::opcode_of(transport::service::reliable_connection,
                                           operation::write, transport::only);
        made.to_qp = one.attr.num;
        made.number = one.engine->expected_number();
        made.migrated = migrated;
        return made;
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(three_thousand);
    region& remote = two.memory.add(three_thousand);
};

class PathMigrationOfUnreliable : public PathMigration {
protected:
    PathMigrationOfUnreliable() : PathMigration(IB_QPT_UNRELIABLE_CONN) {}
};

TEST_F(PathMigration, Rearm_OfBothEnds_ArmsThemByTheFirstPackets) {
    std::vector<bool> bits;
    pair.on_transmit = [&](const packet& what) { bits.push_back(what.migrated); };
    write();
    EXPECT_EQ(std::ranges::count(bits, false), 0) << "packets of a migrated end have MigReq";
    bits.clear();
    arm();
    EXPECT_EQ(std::ranges::count(bits, true), 0);
    EXPECT_TRUE(is_on(one, first_path, IB_APM_ARMED));
    EXPECT_TRUE(one.events.empty());
    EXPECT_TRUE(two.events.empty());
}

TEST_F(PathMigration, Rearm_OfOneEnd_ArmsNone) {
    one.engine->enter_migration(IB_APM_REARM);
    EXPECT_EQ(write(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(is_on(one, first_path, IB_APM_REARM));
    EXPECT_TRUE(is_on(two, first_path, IB_APM_MIGRATED));
    pair.broken = {first_path};
    EXPECT_EQ(write(), ULONG{IB_WC_RETRY_EXCEEDED}) << "an end that is not armed can't migrate";
    EXPECT_EQ(migrations(one), 0);
}

TEST_F(PathMigration, LostPath_IsLeftAfterTheLastRetry) {
    arm();
    unsigned first_packets = 0;
    pair.broken = {first_path};
    pair.on_transmit = [&](const packet& what) {
        first_packets += one.attr.primary_av.dlid == first_path && what.row().is_first() ? 1 : 0;
    };
    EXPECT_EQ(write(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(has_arrived());
    EXPECT_EQ(first_packets, 1u + one.attr.retry_cnt);
    for (const simulated_end* each : {&one, &two}) {
        EXPECT_TRUE(is_on(*each, second_path, IB_APM_MIGRATED));
        EXPECT_EQ(migrations(*each), 1);
        EXPECT_EQ(each->events.size(), 1u);
        EXPECT_EQ(each->attr.alternate_av.dlid, first_path);
        EXPECT_EQ(each->attr.primary_port, 2);
        EXPECT_EQ(each->attr.pkey_index, 3);
        EXPECT_EQ(each->attr.alternate_pkey_index, 0);
        EXPECT_EQ(each->attr.local_ack_timeout, 10);
        EXPECT_EQ(each->attr.alternate_local_ack_timeout, 8);
    }
}

TEST_F(PathMigration, LostAlternatePath_ExhaustsTheRetriesOnceMore) {
    arm();
    std::map<ib_lid_t, unsigned> first_packets;
    pair.broken = {first_path, second_path};
    pair.on_transmit = [&](const packet& what) {
        if (what.row().is_first()) ++first_packets[one.attr.primary_av.dlid];
    };
    EXPECT_EQ(write(), ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_EQ(first_packets[first_path], 1u + one.attr.retry_cnt);
    EXPECT_EQ(first_packets[second_path], 1u + one.attr.retry_cnt);
    EXPECT_EQ(migrations(one), 1);
    EXPECT_EQ(one.engine->state(), IB_QPS_ERROR);
    EXPECT_TRUE(is_on(two, first_path, IB_APM_ARMED)) << "no packet has reached it";
}

TEST_F(PathMigration, LostPathOfTheResponses_IsLeftToo) {
    arm();
    pair.drop = [&](const packet& what) {
        return what.to_qp == one.attr.num && two.attr.primary_av.dlid == first_path;
    };
    EXPECT_EQ(write(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(has_arrived());
    EXPECT_EQ(migrations(one), 1);
    EXPECT_EQ(migrations(two), 1);
}

TEST_F(PathMigration, LostPathUnderARead_BringsEachByteOnce) {
    arm();
    std::iota(remote.bytes.begin(), remote.bytes.end(), UCHAR{7});
    unsigned responses = 0;
    pair.drop = [&](const packet& what) {
        const bool is_response = what.row().what == operation::read_response;
        responses += is_response ? 1 : 0;
        if (responses == 5) pair.broken = {first_path};
        return false;
    };
    ib_local_ds_t segment = segment_of(local, three_thousand);
    EXPECT_EQ(one.send(remote_request(WR_RDMA_READ, segment, remote)), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(one.sent.back().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(has_arrived());
    EXPECT_TRUE(is_on(two, second_path, IB_APM_MIGRATED));
}

// The retries that the old path has used up are no loss of the new one.
TEST_F(PathMigration, EndThatFollows_HasAllRetriesAgain) {
    arm();
    pair.broken = {first_path};
    ib_local_ds_t segment = segment_of(remote, 10);
    EXPECT_EQ(two.send(remote_request(WR_RDMA_WRITE, segment, local)), STATUS_SUCCESS);
    while (pair.packets < 5 && pair.step()) {
    }
    one.engine->enter_migration(IB_APM_MIGRATED);
    unsigned losses = two.attr.retry_cnt;
    pair.drop = [&](const packet& what) {
        return what.to_qp == one.attr.num && what.row().is_first() && losses != 0 && losses-- != 0;
    };
    post_write();
    pair.run();
    EXPECT_EQ(two.sent.back().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(migrations(two), 1);
}

TEST_F(PathMigration, RequestOfTheConsumer_TakesThePeerAlong) {
    arm();
    one.engine->enter_migration(IB_APM_MIGRATED);
    EXPECT_TRUE(is_on(one, second_path, IB_APM_MIGRATED));
    EXPECT_TRUE(is_on(two, first_path, IB_APM_ARMED));
    EXPECT_EQ(write(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(is_on(two, second_path, IB_APM_MIGRATED));
    EXPECT_EQ(migrations(one), 1);
    EXPECT_EQ(migrations(two), 1);
    one.engine->enter_migration(IB_APM_MIGRATED);
    EXPECT_TRUE(is_on(one, second_path, IB_APM_MIGRATED)) << "a migrated end stays where it is";
    EXPECT_EQ(migrations(one), 1);
}

TEST_F(PathMigration, Rearm_AfterAMigration_LeadsBack) {
    arm();
    one.engine->enter_migration(IB_APM_MIGRATED);
    write();
    arm();
    pair.broken = {second_path};
    EXPECT_EQ(write(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(is_on(one, first_path, IB_APM_MIGRATED));
    EXPECT_TRUE(is_on(two, first_path, IB_APM_MIGRATED));
    EXPECT_EQ(migrations(one), 2);
    EXPECT_EQ(migrations(two), 2);
}

TEST_F(PathMigration, RequestOnTheWrongPath_IsDroppedAndReportedOnce) {
    arm();
    const psn before = one.engine->expected_number();
    for (unsigned i = 0; i < 3; ++i)
        pair.inject(one, next_of_two(true), first_path);
    EXPECT_EQ(one.engine->expected_number(), before);
    EXPECT_TRUE(is_on(one, first_path, IB_APM_ARMED));
    EXPECT_EQ(count(one, IB_AE_PATH_MIGRATION_ERROR), 1);
    one.engine->enter_migration(IB_APM_REARM);
    pair.inject(one, next_of_two(false), first_path);
    EXPECT_TRUE(is_on(one, first_path, IB_APM_ARMED));
    pair.inject(one, next_of_two(true), first_path);
    EXPECT_EQ(count(one, IB_AE_PATH_MIGRATION_ERROR), 2);
    EXPECT_EQ(migrations(one), 0);
}

TEST_F(PathMigration, RequestOfAnotherService_IsNone) {
    arm();
    packet foreign = next_of_two(true);
    foreign.opcode = transport::opcode_of(transport::service::unreliable_connection,
                                          operation::write, transport::only);
    pair.inject(one, foreign, second_path);
    pair.inject(one, foreign, first_path);
    EXPECT_TRUE(is_on(one, first_path, IB_APM_ARMED));
    EXPECT_TRUE(one.events.empty());
}

TEST_F(PathMigration, PacketOfTheOldPath_IsDropped) {
    arm();
    one.engine->enter_migration(IB_APM_MIGRATED);
    const psn before = one.engine->expected_number();
    pair.inject(one, next_of_two(false), first_path);
    EXPECT_EQ(one.engine->expected_number(), before);
    pair.inject(one, next_of_two(true), second_path);
    EXPECT_EQ(one.engine->expected_number(), before + 1);
}

TEST_F(PathMigration, PeerThatHasNotRearmed_IsStillHeard) {
    one.engine->enter_migration(IB_APM_REARM);
    const psn before = one.engine->expected_number();
    pair.inject(one, next_of_two(true), first_path);
    EXPECT_EQ(one.engine->expected_number(), before + 1);
    EXPECT_TRUE(is_on(one, first_path, IB_APM_REARM));
}

TEST_F(PathMigration, Drain_MigratesOnceToo) {
    arm();
    pair.broken = {first_path};
    post_write();
    one.engine->enter(IB_QPS_SQD, true);
    pair.run();
    EXPECT_EQ(one.sent.back().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.engine->state(), IB_QPS_SQD_DRAINED);
    EXPECT_EQ(migrations(one), 1);
    EXPECT_EQ(count(one, IB_AE_SQ_DRAINED), 1);
}

// A rearmed end needs packets: they arm its peer.
TEST_F(PathMigration, StraightPath_ExistsWhereNoPacketChangesTheState) {
    const auto connects = [&] { return one.engine->is_joined_to(*two.engine); };
    EXPECT_TRUE(connects());
    one.engine->enter_migration(IB_APM_REARM);
    EXPECT_FALSE(connects());
    two.engine->enter_migration(IB_APM_REARM);
    EXPECT_FALSE(connects());
    arm();
    EXPECT_TRUE(connects());
    one.engine->enter_migration(IB_APM_MIGRATED);
    EXPECT_FALSE(connects());
}

TEST_F(PathMigrationOfUnreliable, RequestOfTheConsumer_TakesThePeerAlong) {
    arm();
    pair.broken = {first_path};
    write();
    EXPECT_FALSE(has_arrived());
    EXPECT_TRUE(is_on(one, first_path, IB_APM_ARMED)) << "an unreliable service sees no loss";
    one.engine->enter_migration(IB_APM_MIGRATED);
    write();
    EXPECT_TRUE(has_arrived());
    EXPECT_TRUE(is_on(two, second_path, IB_APM_MIGRATED));
    EXPECT_EQ(migrations(one), 1);
    EXPECT_EQ(migrations(two), 1);
}

// ---- any order of losses and requests

constexpr std::uint64_t migration_seeds = 150;
constexpr unsigned writes = 12;
constexpr ULONG write_size = 1000; // bytes of each

/// Two ends that write while a path breaks, perhaps with a request of a consumer at the same time.
void run_seed(std::uint64_t seed) {
    simulated_pair pair(seed);
    dispatch::choices& chance = pair.chance;
    for (const auto& each : pair.ends) {
        each->attr.primary_av.dlid = first_path;
        each->attr.alternate_av.dlid = second_path;
        each->attr.alternate_local_ack_timeout = each->attr.local_ack_timeout;
    }
    if (chance.fires("keeps early packets", 2)) pair.keep_early_packets(100);
    pair.connect();
    region* from[2];
    region* to[2];
    for (unsigned i = 0; i < 2; ++i) {
        from[i] = &pair.ends[i]->memory.add(writes * write_size);
        to[1 - i] = &pair.ends[1 - i]->memory.add(writes * write_size);
        for (UCHAR& each : from[i]->bytes)
            each = static_cast<UCHAR>(chance.pick(256, "data"));
        pair.ends[i]->engine->enter_migration(IB_APM_REARM);
    }
    const auto post = [&](unsigned end, unsigned number) {
        ib_local_ds_t segment = segment_of(*from[end], write_size, ULONGLONG{number} * write_size);
        EXPECT_EQ(pair.ends[end]->send(remote_request(WR_RDMA_WRITE, segment, *to[1 - end],
                                                      ULONGLONG{number} * write_size, number)),
                  STATUS_SUCCESS);
    };
    post(0, 0);
    post(1, 0);
    pair.run(); // both are armed
    pair.faults = {.loss = 40, .duplication = 40, .corruption = 80, .full = 40, .jitter = 6};
    const unsigned breaks_at = 1 + chance.pick(writes - 2, "break");
    const bool is_requested = chance.pick(2, "requested") != 0;
    for (unsigned i = 1; i < writes; ++i) {
        for (unsigned end = 0; end < 2; ++end)
            if (i < writes - 1 || chance.pick(2, "last") != 0) post(end, i);
        if (i == breaks_at) {
            pair.broken = {first_path};
            if (is_requested)
                pair.ends[chance.pick(2, "end")]->engine->enter_migration(IB_APM_MIGRATED);
        }
        pair.run(chance.pick(60, "steps"));
    }
    pair.run();
    for (unsigned i = 0; i < 2; ++i) {
        const simulated_end& end = *pair.ends[i];
        ASSERT_GE(end.sent.size(), writes - 1);
        for (std::size_t each = 0; each < end.sent.size(); ++each) {
            ASSERT_EQ(end.sent[each].WrId, each);
            ASSERT_EQ(end.sent[each].Status, ULONG{IB_WC_SUCCESS});
        }
        const auto total = static_cast<std::ptrdiff_t>(end.sent.size() * write_size);
        EXPECT_TRUE(std::equal(from[i]->bytes.begin(), from[i]->bytes.begin() + total,
                               to[1 - i]->bytes.begin()));
        EXPECT_EQ(end.attr.apm_state, IB_APM_MIGRATED);
        EXPECT_EQ(end.attr.primary_av.dlid, second_path);
        EXPECT_EQ(std::ranges::count(end.events, IB_AE_PATH_MIGRATED), 1);
        EXPECT_EQ(end.events.size(), 1u) << "no other event";
        EXPECT_EQ(end.memory.outside, 0u);
    }
}

TEST(PathMigrationWithFaults, EachByteArrives_AndEachEndMigratesOnce) {
    expect_campaign(migration_seeds, run_seed);
}

} // namespace
