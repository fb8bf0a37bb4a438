#include "scripted_sa.hpp"

#include <path_cache/path_cache.hpp>

#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <vector>

namespace irpverbs::saa {
namespace {

using irpverbs::testing::path_ends;
constexpr machine_time second = 10'000'000;

sa_path_record_t between(std::uint64_t source, std::uint64_t destination) {
    sa_path_record_t record{};
    record.SGID = {0xfe80000000000000, source};
    record.DGID = {0xfe80000000000000, destination};
    return record;
}

path_key key_of(std::uint64_t source, std::uint64_t destination) {
    return *path_key::of(between(source, destination), path_ends);
}

struct cache_with_one : ::testing::Test {
    path_cache cache{{.entries = 4, .ttl = 10 * second, .negative_ttl = second}};
    path_key key = key_of(1, 2);
    std::vector<sa_path_record_t> records{between(1, 2)};

    void SetUp() override { ASSERT_TRUE(cache.store(key, records, cache.current_ticket(), 0)); }
    bool hits(const path_key& asked, machine_time now = 0) {
        return cache.look_up(asked, now).what == path_cache::outcome::hit;
    }
};

using PathCache = cache_with_one;

TEST(PathKey, FieldsOutsideMask_AreIgnored) {
    sa_path_record_t a = between(1, 2);
    sa_path_record_t b = between(1, 2);
    b.P_Key = 7;
    b.Mtu = 4;
    EXPECT_EQ(path_key::of(a, path_ends), path_key::of(b, path_ends));
    EXPECT_NE(path_key::of(a, path_ends | SA_PR_COMPMASK_PKEY),
              path_key::of(b, path_ends | SA_PR_COMPMASK_PKEY));
}

// Each component that distinguishes requests distinguishes keys.
TEST(PathKey, EachCacheableComponent_DistinguishesKeys) {
    sa_path_record_t plain = between(1, 2);
    sa_path_record_t full = between(1, 2);
    full.ServiceID = full.P_Key = full.QoSClass = full.SL = full.TClass = 1;
    full.MtuSelector = full.Mtu = full.RateSelector = full.Rate = 1;
    full.PacketLifeTimeSelector = full.PacketLifeTime = full.Reversible = full.NumbPath = 1;
    for (const std::uint64_t component :
         {SA_PR_COMPMASK_SERVICEID, SA_PR_COMPMASK_PKEY, SA_PR_COMPMASK_QOSCLASS, SA_PR_COMPMASK_SL,
          SA_PR_COMPMASK_TCLASS, SA_PR_COMPMASK_MTUSELECTOR, SA_PR_COMPMASK_MTU,
          SA_PR_COMPMASK_RATESELECTOR, SA_PR_COMPMASK_RATE, SA_PR_COMPMASK_PKTLTSELECTOR,
          SA_PR_COMPMASK_PKTLT, SA_PR_COMPMASK_REVERSIBLE, SA_PR_COMPMASK_NUMBPATH}) {
        const auto a = path_key::of(plain, path_ends | component);
        const auto b = path_key::of(full, path_ends | component);
        ASSERT_TRUE(a && b);
        EXPECT_NE(*a, *b) << component;
        EXPECT_NE(a->hash(), b->hash()) << component;
        EXPECT_NE(*a, *path_key::of(plain, path_ends)) << component;
    }
}

TEST(PathKey, QueryWithoutBothGidsOrByLid_HasNoKey) {
    EXPECT_FALSE(path_key::of(between(1, 2), SA_PR_COMPMASK_SGID));
    EXPECT_FALSE(path_key::of(between(1, 2), path_ends | SA_PR_COMPMASK_DLID));
}

TEST_F(PathCache, MorePathsThanNumbPathCounts_AreNotStored) {
    const path_key other = key_of(1, 3);
    const std::vector<sa_path_record_t> many(128, between(1, 3));
    EXPECT_FALSE(cache.store(other, many, cache.current_ticket(), 0));
    EXPECT_FALSE(hits(other));
    EXPECT_TRUE(cache.store(other, std::span(many).first(127), cache.current_ticket(), 0));
    EXPECT_TRUE(hits(other));
}

TEST_F(PathCache, LifetimeExpired_EntryMisses) {
    EXPECT_TRUE(hits(key, 10 * second - 1));
    EXPECT_FALSE(hits(key, 10 * second));
    EXPECT_EQ(cache.counters().stale, 1u);
    EXPECT_EQ(cache.counters().hits, 1u);
    EXPECT_EQ(cache.counters().misses, 1u);
    EXPECT_EQ(cache.size(), 0u);
}

TEST_F(PathCache, NegativeEntry_KeepsStatusForShortLifetime) {
    const path_key other = key_of(1, 3);
    ASSERT_TRUE(cache.store_negative(other, -23, cache.current_ticket(), 0));
    EXPECT_EQ(cache.look_up(other, second - 1).what, path_cache::outcome::negative);
    EXPECT_EQ(cache.look_up(other, second - 1).status, -23);
    EXPECT_EQ(cache.look_up(other, second).what, path_cache::outcome::miss);
    EXPECT_EQ(cache.counters().negative_hits, 2u);
}

TEST_F(PathCache, GidOutOfService_InvalidatesPathsOfBothDirections) {
    ASSERT_TRUE(cache.store(key_of(2, 3), records, cache.current_ticket(), 0));
    ASSERT_TRUE(cache.store(key_of(3, 1), records, cache.current_ticket(), 0));
    cache.invalidate_gid({0xfe80000000000000, 2}, invalidation::gid_out_of_service);
    EXPECT_FALSE(hits(key_of(1, 2)));
    EXPECT_FALSE(hits(key_of(2, 3)));
    EXPECT_TRUE(hits(key_of(3, 1)));
    EXPECT_EQ(cache.counters().invalidated[0], 2u);
}

TEST_F(PathCache, GidInService_InvalidatesNegativeEntry) {
    ASSERT_TRUE(cache.store_negative(key_of(1, 3), -1, cache.current_ticket(), 0));
    cache.invalidate_gid({0xfe80000000000000, 3}, invalidation::gid_in_service);
    EXPECT_EQ(cache.look_up(key_of(1, 3), 0).what, path_cache::outcome::miss);
}

TEST_F(PathCache, PortEvents_InvalidateAllEntries) {
    for (const auto reason : {invalidation::sm_change, invalidation::client_reregister,
                              invalidation::lid_change, invalidation::pkey_change}) {
        ASSERT_TRUE(cache.store(key, records, cache.current_ticket(), 0));
        cache.invalidate_all(reason);
        EXPECT_FALSE(hits(key));
        EXPECT_EQ(cache.counters().invalidated[static_cast<std::size_t>(reason)], 1u);
    }
}

// A response that was outstanding while its path was withdrawn is not cached.
TEST_F(PathCache, ResponseOlderThanInvalidation_NotStored) {
    const auto before = cache.current_ticket();
    cache.invalidate_gid({0xfe80000000000000, 2}, invalidation::gid_out_of_service);
    EXPECT_FALSE(cache.store(key, records, before, 0));
    EXPECT_FALSE(cache.store_negative(key, -1, before, 0));
    EXPECT_TRUE(cache.store(key_of(1, 3), records, before, 0)) << "another path";
    EXPECT_TRUE(cache.store(key, records, cache.current_ticket(), 0));
    EXPECT_EQ(cache.counters().late_responses, 2u);
}

TEST_F(PathCache, ResponseOlderThanEventHistory_NotStored) {
    const auto before = cache.current_ticket();
    for (std::uint64_t gid = 100; gid < 100 + 257; ++gid)
        cache.invalidate_gid({0xfe80000000000000, gid}, invalidation::gid_out_of_service);
    EXPECT_FALSE(cache.store(key_of(1, 3), records, before, 0));
}

TEST_F(PathCache, CacheFull_LeastRecentlyUsedEvicted) {
    for (std::uint64_t to = 3; to <= 5; ++to)
        ASSERT_TRUE(cache.store(key_of(1, to), records, cache.current_ticket(), 0));
    EXPECT_TRUE(hits(key)); // used: no longer the oldest
    ASSERT_TRUE(cache.store(key_of(1, 6), records, cache.current_ticket(), 0));
    EXPECT_TRUE(hits(key));
    EXPECT_FALSE(hits(key_of(1, 3)));
    EXPECT_EQ(cache.size(), 4u);
    EXPECT_EQ(cache.counters().evicted, 1u);
}

// A subnet whose paths have versions, an SA with slow responses, and a cache between: a hit is
// always the newest version once the event of the change was received, and never past its lifetime.
class subnet_model {
public:
    explicit subnet_model(std::uint64_t seed) : source_(seed) {}

    void step() {
        now_ += source_.pick(3, "time") * second / 2;
        switch (source_.pick(6, "step")) {
        case 0:
        case 1:
            look_up();
            break;
        case 2:
            ask();
            break;
        case 3:
            respond();
            break;
        case 4:
            change_port();
            break;
        default:
            if (source_.fires("all", 8)) change_all();
        }
    }
    std::uint64_t hits() const { return cache_.counters().hits; }

private:
    static constexpr std::uint32_t ports = 4;
    struct outstanding_request {
        std::uint32_t from, to;
        path_cache::ticket when;
        std::uint32_t version;
    };

    std::uint32_t version_of(std::uint32_t from, std::uint32_t to) const {
        return all_ + versions_[from] + versions_[to];
    }
    void look_up() {
        const auto from = source_.pick(ports, "from"), to = source_.pick(ports, "to");
        const auto found = cache_.look_up(key_of(from, to), now_);
        if (found.what != path_cache::outcome::hit) return;
        ASSERT_EQ(found.records.size(), 1u);
        EXPECT_EQ(found.records[0].ServiceID, version_of(from, to));
        const machine_time since = stored_[{from, to}];
        EXPECT_LT(now_, since + 10 * second);
    }
    void ask() {
        const auto from = source_.pick(ports, "from"), to = source_.pick(ports, "to");
        asked_.push_back({from, to, cache_.current_ticket(), version_of(from, to)});
    }
    void respond() {
        if (asked_.empty()) return;
        const auto at = source_.pick(static_cast<std::uint32_t>(asked_.size()), "request");
        const outstanding_request q = asked_[at];
        asked_.erase(asked_.begin() + at);
        sa_path_record_t record = between(q.from, q.to);
        record.ServiceID = q.version;
        if (cache_.store(key_of(q.from, q.to), {&record, 1}, q.when, now_))
            stored_[{q.from, q.to}] = now_;
    }
    void change_port() {
        const auto port = source_.pick(ports, "port");
        ++versions_[port];
        cache_.invalidate_gid({0xfe80000000000000, port}, invalidation::gid_out_of_service);
    }
    void change_all() {
        ++all_;
        cache_.invalidate_all(invalidation::sm_change);
    }

    dispatch::random_choices source_;
    path_cache cache_{{.entries = 6, .ttl = 10 * second, .negative_ttl = second}};
    machine_time now_ = 0;
    std::uint32_t all_ = 0;
    std::uint32_t versions_[ports] = {};
    std::vector<outstanding_request> asked_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, machine_time> stored_;
};

TEST(PathCacheModel, InvalidatedPath_NeverReturned) {
    std::uint64_t hits = 0;
    for (std::uint64_t seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        subnet_model model(seed);
        for (int i = 0; i < 400; ++i)
            model.step();
        hits += model.hits();
    }
    EXPECT_GT(hits, 1000u) << "a model without hits tests nothing";
}

} // namespace
} // namespace irpverbs::saa
