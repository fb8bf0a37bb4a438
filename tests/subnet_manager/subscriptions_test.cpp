#include <sa/subscriptions.hpp>

#include <gtest/gtest.h>

namespace irpverbs::subnet_manager {
namespace {

ib_mad_informinfo_t all_of(std::uint32_t producer) {
    ib_mad_informinfo_t info{};
    info.LIDRangeBegin = MAD_INFORMINFO_ALL_ENDPORTS_RANGE;
    info.IsGeneric = 1;
    info.Subscribe = MAD_INFORMINFO_SUBSCRIBE;
    info.Type = MAD_INFORMINFO_TRAP_TYPE_FORWARD_ALL;
    info.TrapNumber_DeviceID = MAD_INFORMINFO_TRAP_NUMBER_FORWARD_ALL;
    info.ProducerType_VendorID = producer & 0xffffff;
    return info;
}

ib_mad_notice_t gid_in_service() {
    ib_mad_notice_t notice{};
    notice.IsGeneric = 1;
    notice.Type = MAD_NOTICE_TYPE_SUBNET_MGMT;
    notice.ProducerType_VendorID = MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT;
    notice.TrapNumber_DeviceID = SM_GID_IN_SERVICE_TRAP;
    notice.IssuerLID = 5;
    notice.IssuerGID = {1, 2};
    return notice;
}

const subscriber host{{0xfe80000000000000, 7}, 12, 1, 0xffff, 0};

// As table.set(), for callers that do not need the stored record.
std::uint16_t set(subscription_table& table, const subscriber& from, ib_mad_informinfo_t info,
                  bool trusted) {
    return table.set(from, info, trusted);
}

TEST(InformMatching, FieldDiffersWithoutWildcard_DoesNotMatch) {
    const ib_mad_notice_t notice = gid_in_service();
    ib_mad_informinfo_t info = all_of(MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT);
    EXPECT_TRUE(wants_event(info, notice));
    EXPECT_TRUE(wants_event(all_of(0xffffff), notice));
    EXPECT_FALSE(wants_event(all_of(MAD_NOTICE_NODETYPE_CA), notice));
    info.Type = MAD_NOTICE_TYPE_SUBNET_MGMT;
    EXPECT_TRUE(wants_event(info, notice));
    info.Type = MAD_NOTICE_TYPE_URGENT;
    EXPECT_FALSE(wants_event(info, notice));
    info = all_of(0xffffff);
    info.TrapNumber_DeviceID = SM_GID_OUT_OF_SERVICE_TRAP;
    EXPECT_FALSE(wants_event(info, notice));
    info = all_of(0xffffff);
    info.IsGeneric = 0;
    EXPECT_FALSE(wants_event(info, notice));
}

TEST(InformMatching, GidOfIssuer_OverridesLidRange) {
    ib_mad_informinfo_t info = all_of(0xffffff);
    info.LIDRangeBegin = info.LIDRangeEnd = 9;
    EXPECT_FALSE(wants_event(info, gid_in_service()));
    info.GID = {1, 2};
    EXPECT_TRUE(wants_event(info, gid_in_service()));
    info.GID = {1, 3};
    EXPECT_FALSE(wants_event(info, gid_in_service()));
}

TEST(InformMatching, LidRange_IsInclusive) {
    ib_mad_informinfo_t info = all_of(0xffffff);
    for (const auto& [begin, end, wanted] : {std::tuple{5, 5, true},
                                             {1, 5, true},
                                             {5, 9, true},
                                             {6, 9, false},
                                             {1, 4, false},
                                             {9, 1, false}}) {
        info.LIDRangeBegin = static_cast<ib_lid_t>(begin);
        info.LIDRangeEnd = static_cast<ib_lid_t>(end);
        EXPECT_EQ(wants_event(info, gid_in_service()), wanted) << begin << ".." << end;
    }
}

TEST(Subscriptions, SubscribedTwice_OneSubscriptionKept) {
    subscription_table table;
    EXPECT_EQ(set(table, host, all_of(4), false), SA_STATUS_NO_ERROR);
    EXPECT_EQ(set(table, host, all_of(4), false), SA_STATUS_NO_ERROR);
    EXPECT_EQ(set(table, host, all_of(2), false), SA_STATUS_NO_ERROR);
    EXPECT_EQ(table.size(), 2u);
    EXPECT_EQ(table.matching(gid_in_service()).size(), 1u);
}

// OpenSM stores the requester's QP number and compares it with that of an unsubscription.
TEST(Subscriptions, Unsubscribe_RequiresQpNumber) {
    subscription_table table;
    set(table, host, all_of(4), false);
    ib_mad_informinfo_t info = all_of(4);
    info.Subscribe = MAD_INFORMINFO_UNSUBSCRIBE;
    EXPECT_EQ(set(table, host, info, false), SA_STATUS_ERR_REQ_INVALID) << "QPN 0";
    info.QPN = host.qpn & 0xffffff;
    EXPECT_EQ(set(table, host, info, false), SA_STATUS_NO_ERROR);
    EXPECT_EQ(set(table, host, info, false), SA_STATUS_ERR_REQ_INVALID) << "none is left";
    EXPECT_EQ(table.size(), 0u);
}

TEST(Subscriptions, SameInformInfoFromOtherSubscriber_AddedUpToCapacity) {
    subscription_table table(2);
    subscriber other = host;
    other.lid = 13;
    set(table, host, all_of(4), false);
    EXPECT_EQ(set(table, other, all_of(4), false), SA_STATUS_NO_ERROR);
    ASSERT_EQ(table.matching(gid_in_service()).size(), 2u);
    EXPECT_EQ(table.matching(gid_in_service())[1]->from.lid, 13);
    other.lid = 14;
    EXPECT_EQ(set(table, other, all_of(4), false), SA_STATUS_ERR_NO_RESOURCES);
}

TEST(Subscriptions, SecurityTraps_RequireTrustedSubscriber) {
    subscription_table table;
    ib_mad_informinfo_t info = all_of(0xffffff);
    EXPECT_EQ(set(table, host, info, false), SA_STATUS_NO_ERROR) << "the wildcard is accepted";
    for (std::uint16_t trap = 255; trap <= 260; ++trap) {
        info.TrapNumber_DeviceID = trap;
        const bool security = trap >= 256 && trap <= 259;
        EXPECT_EQ(set(table, host, info, false),
                  security ? SA_STATUS_ERR_REQ_INVALID : SA_STATUS_NO_ERROR);
        EXPECT_EQ(set(table, host, info, true), SA_STATUS_NO_ERROR);
    }
    info.Subscribe = 2;
    EXPECT_EQ(set(table, host, info, true), SA_STATUS_ERR_REQ_INVALID);
}

TEST(Subscriptions, SubscriberRemoved_OthersOfItsPortAreKept) {
    subscription_table table;
    set(table, host, all_of(4), false);
    subscriber other = host;
    other.qpn = 9;
    set(table, other, all_of(4), false);
    EXPECT_EQ(table.remove(host), host.gid);
    EXPECT_EQ(table.remove(host), ib_gid_t{});
    EXPECT_EQ(table.size(), 1u);
    EXPECT_EQ(table.remove(other), host.gid);
}

TEST(Subscriptions, PortRemoved_ItsSubscriptionsAreDeleted) {
    subscription_table table;
    set(table, host, all_of(4), false);
    sa_informinfo_record_t wanted{};
    wanted.SubscriberGID = host.gid;
    ASSERT_EQ(table.find(wanted, SA_INFORMINFO_COMPMASK_SUBGID).size(), 1u);
    EXPECT_EQ(table.find(wanted, SA_INFORMINFO_COMPMASK_SUBGID)[0].InformInfo.QPN, 1u);
    wanted.SubscriberGID.gid_guid = 8;
    EXPECT_TRUE(table.find(wanted, SA_INFORMINFO_COMPMASK_SUBGID).empty());
    EXPECT_EQ(table.remove(wanted.SubscriberGID), 0u);
    EXPECT_EQ(table.remove(host.gid), 1u);
    EXPECT_EQ(table.size(), 0u);
}

} // namespace
} // namespace irpverbs::subnet_manager
