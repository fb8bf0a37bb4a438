#include <sa/service_registry.hpp>

#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace irpverbs::subnet_manager {
namespace {

constexpr std::uint64_t second = 10'000'000;
constexpr std::uint64_t identity = SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_PKEY;
constexpr std::uint64_t with_lease = identity | SA_SR_COMPMASK_LEASE;

// As registry.set(), for callers that do not need the stored record.
std::uint16_t set(service_registry& services, sa_service_record_t record, std::uint64_t components,
                  machine_time now) {
    return services.set(record, components, now);
}

sa_service_record_t service(std::uint64_t id, std::uint32_t lease = 10) {
    sa_service_record_t record{};
    record.ServiceID = id;
    record.ServiceGID = {0xfe80000000000000, 7};
    record.ServiceP_Key = 0xffff;
    record.ServiceLease = lease;
    return record;
}

TEST(ServiceRegistry, Lease_RemainderReportedUntilExpiry) {
    service_registry services;
    EXPECT_EQ(set(services, service(1), with_lease, 0), SA_STATUS_NO_ERROR);
    EXPECT_EQ(services.next_expiry(), 10 * second);
    ASSERT_EQ(services.find({}, 0, 3 * second, true).size(), 1u);
    EXPECT_EQ(services.find({}, 0, 3 * second, true)[0].ServiceLease, 7u);
    EXPECT_TRUE(services.find({}, 0, 10 * second, true).empty()) << "also before expire() ran";
    EXPECT_EQ(services.expire(10 * second), 1u);
    EXPECT_EQ(services.size(), 0u);
    EXPECT_FALSE(services.next_expiry());
}

TEST(ServiceRegistry, NoLeaseComponent_NeverExpires) {
    service_registry services;
    EXPECT_EQ(set(services, service(1), identity, 0), SA_STATUS_NO_ERROR);
    EXPECT_FALSE(services.next_expiry());
    EXPECT_EQ(services.find({}, 0, ~0ull, true)[0].ServiceLease, SA_SR_INDEFINITE_SERVICE_LEASE);
}

TEST(ServiceRegistry, SameIdentity_ReplacesRecordAndRenewsLease) {
    service_registry services;
    sa_service_record_t record = service(1);
    set(services, record, with_lease, 0);
    record.ServiceName[0] = 'n';
    set(services, record, with_lease, 5 * second);
    EXPECT_EQ(services.size(), 1u);
    EXPECT_EQ(services.expire(10 * second), 0u);
    EXPECT_EQ(services.find({}, 0, 10 * second, true)[0].ServiceName[0], 'n');
    EXPECT_EQ(services.expire(15 * second), 1u);
}

TEST(ServiceRegistry, IncompleteIdentity_RefusedUnlessOnlyPKeyMissing) {
    service_registry services;
    EXPECT_EQ(set(services, service(1), SA_SR_COMPMASK_ID, 0), SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(set(services, service(1), SA_SR_COMPMASK_GID, 0), SA_STATUS_ERR_REQ_INVALID);
    sa_service_record_t record = service(1);
    record.ServiceP_Key = 5;
    EXPECT_EQ(set(services, record, SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID, 0), SA_STATUS_NO_ERROR);
    EXPECT_EQ(services.find({}, 0, 0, true)[0].ServiceP_Key, 0xffff);
}

TEST(ServiceRegistry, WrongServiceKey_CannotReplaceOrDelete) {
    service_registry services;
    sa_service_record_t record = service(1);
    record.ServiceKey_lo = 99;
    set(services, record, with_lease, 0);
    sa_service_record_t other = service(1);
    EXPECT_EQ(set(services, other, with_lease, 0), SA_STATUS_ERR_REQ_DENIED);
    EXPECT_EQ(services.erase(other, 0), SA_STATUS_ERR_NO_RECORDS);
    EXPECT_EQ(services.find({}, 0, 0, false)[0].ServiceKey_lo, 0u)
        << "hidden from other requesters";
    EXPECT_EQ(services.find({}, 0, 0, true)[0].ServiceKey_lo, 99u);
    EXPECT_EQ(services.erase(record, 0), SA_STATUS_NO_ERROR);
    EXPECT_EQ(services.size(), 0u);
}

TEST(ServiceRegistry, CapacityReached_RefusedUntilRecordExpires) {
    service_registry services(2);
    set(services, service(1), with_lease, 0);
    set(services, service(2), with_lease, 0);
    EXPECT_EQ(set(services, service(3), with_lease, 0), SA_STATUS_ERR_NO_RESOURCES);
    EXPECT_EQ(services.find(service(2), SA_SR_COMPMASK_ID, 0, false).size(), 1u);
    EXPECT_EQ(services.find(service(3), SA_SR_COMPMASK_ID, 0, false).size(), 0u);
    EXPECT_EQ(set(services, service(3), with_lease, 10 * second), SA_STATUS_NO_ERROR)
        << "an expired record makes room";
}

// Compares with a plain map under random calls.
TEST(ServiceRegistry, RandomCalls_MatchModelWithDeadlines) {
    for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dispatch::random_choices source(seed);
        service_registry services;
        std::map<std::uint64_t, std::optional<std::uint64_t>> model; // id, end
        std::uint64_t now = 0;
        for (int step = 0; step < 200; ++step) {
            now += source.pick(4, "time") * second;
            const std::uint64_t id = source.pick(6, "id");
            if (source.pick(3, "what") != 0) {
                const bool leased = source.pick(2, "leased") == 1;
                const std::uint32_t lease = 1 + source.pick(7, "lease");
                set(services, service(id, lease), leased ? with_lease : identity, now);
                model[id] = leased ? std::optional(now + lease * second) : std::nullopt;
            } else {
                sa_service_record_t record = service(id);
                const bool there = model.contains(id) && (!model[id] || *model[id] > now);
                EXPECT_EQ(services.erase(record, now) == SA_STATUS_NO_ERROR, there);
                model.erase(id);
            }
            std::erase_if(model,
                          [&](const auto& kept) { return kept.second && *kept.second <= now; });
            EXPECT_EQ(services.find({}, 0, now, true).size(), model.size());
            services.expire(now);
            EXPECT_EQ(services.size(), model.size());
        }
    }
}

} // namespace
} // namespace irpverbs::subnet_manager
