// Multicast groups that partitions define, and the rules of joining and leaving.
#include "administered_subnet.hpp"
#include "multicast_components.hpp"

#include <map>

namespace {

using namespace irpverbs::testing;

constexpr ib_gid_t broadcast{0xff12401bffff0000, 0xffffffff};
constexpr std::uint8_t send_only = SA_MC_JOIN_SEND_ONLY_NON;

class GroupRules : public AdministeredSubnet {
protected:
    GroupRules() = default;
    explicit GroupRules(irpverbs::subnet_manager::manager_options options)
        : AdministeredSubnet(std::move(options)) {}

    sa_response ask(std::uint8_t method, const ib_gid_t& mgid, std::uint8_t state,
                    std::uint64_t components = to_join, ib_pkey_t key = 0xFFFF) {
        sa_mcmember_record_t record{};
        record.MGID = mgid;
        record.PortGID = gid(2);
        record.JoinState = state;
        record.P_Key = key;
        return client.ask(method, SA_MCMEMBERRECORD_ATTRID, record, components);
    }
};

// F4. As in OpenSM without partitions.conf.
TEST_P(GroupRules, DefaultPartition_HasItsBroadcastGroup) {
    const auto groups = client.table<sa_mcmember_record_t>();
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0].MGID.gid_prefix, broadcast.gid_prefix);
    EXPECT_EQ(groups[0].MGID.gid_guid, broadcast.gid_guid);
    EXPECT_EQ(groups[0].MLID, 0xC000);
    EXPECT_EQ(groups[0].Q_Key, 0xB1Bu);
    EXPECT_EQ(groups[0].P_Key, 0xFFFF);
    EXPECT_EQ(groups[0].MTU, 4);
    EXPECT_EQ(groups[0].Rate, 3);
    EXPECT_EQ(groups[0].PacketLifeTime, 18);
    EXPECT_EQ(groups[0].Scope, 2);
    EXPECT_EQ(groups[0].HopLimit, 0);
    client.key = 1;
    EXPECT_TRUE(client.table<sa_mcmember_record_t>().empty()) << "no member";
}

TEST_P(GroupRules, BroadcastGroup_IsJoinedByMgidPortAndStateAloneAndOutlivesItsMembers) {
    const sa_response joined = ask(SA_SUBN_ADM_SET, broadcast, SA_MC_JOIN_FULL);
    ASSERT_EQ(joined.status, 0);
    EXPECT_EQ(joined.record<sa_mcmember_record_t>().MLID, 0xC000);
    EXPECT_EQ(joined.record<sa_mcmember_record_t>().Q_Key, 0xB1Bu);
    EXPECT_EQ(ask(SA_SUBN_ADM_DELETE, broadcast, SA_MC_JOIN_FULL).status, 0);
    EXPECT_EQ(client.table<sa_mcmember_record_t>().size(), 1u);
    EXPECT_EQ(ask(SA_SUBN_ADM_SET, broadcast, send_only).status, 0)
        << "the group has no full member";
    EXPECT_EQ(ask(SA_SUBN_ADM_DELETE, broadcast, send_only).status, 0);
    EXPECT_EQ(client.table<sa_mcmember_record_t>().size(), 1u);
}

// The response is the same for a group that is destroyed and for one that stays.
TEST_P(GroupRules, LastFullMemberLeaves_ResponseHasJoinState0) {
    constexpr ib_gid_t made{0xff12000000000000, 7};
    constexpr auto state = static_cast<std::uint8_t>(SA_MC_JOIN_FULL | send_only);
    ASSERT_EQ(ask(SA_SUBN_ADM_SET, made, state, to_create).status, 0);
    ASSERT_EQ(ask(SA_SUBN_ADM_SET, broadcast, state).status, 0);
    for (const ib_gid_t& mgid : {made, broadcast}) {
        const sa_response left = ask(SA_SUBN_ADM_DELETE, mgid, SA_MC_JOIN_FULL);
        EXPECT_EQ(left.status, 0);
        EXPECT_EQ(left.record<sa_mcmember_record_t>().JoinState, 0);
        EXPECT_EQ(ask(SA_SUBN_ADM_DELETE, mgid, send_only).status, SA_STATUS_ERR_REQ_INVALID);
    }
    EXPECT_EQ(client.table<sa_mcmember_record_t>().size(), 1u);
}

// osmtest's multicast flow.
TEST_P(GroupRules, LifeTimeOfANewGroup_FulfilsTheRequest) {
    const auto life_time_of_new = [&](std::uint8_t selector, std::uint8_t value) {
        static std::uint64_t number = 100;
        sa_mcmember_record_t record{};
        record.MGID = {0xff12000000000000, ++number};
        record.PortGID = gid(2);
        record.JoinState = SA_MC_JOIN_FULL;
        record.P_Key = 0xFFFF;
        record.PacketLifeTimeSelector = selector & 3;
        record.PacketLifeTime = value & 0x3f;
        const sa_response made =
            client.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, record,
                       to_create | SA_MC_COMPMASK_PKTLT | SA_MC_COMPMASK_PKTLTSELECTOR);
        return made.status != 0 ? -int{made.status}
                                : int{made.record<sa_mcmember_record_t>().PacketLifeTime};
    };
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_GREATER, 0), 18) << "the subnet's";
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_GREATER, 18), 19);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_GREATER, 63), -SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_LESS, 40), 18);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_LESS, 18), 17);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_LESS, 0), -SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_EXACTLY, 7), 7);
    EXPECT_EQ(life_time_of_new(SA_PR_LT_SEL_SMALLEST_AVAIL, 7), 18);
}

// The membership bit describes the port and does not identify the group.
TEST_P(GroupRules, FullMember_MakesAGroupOfAPKeyWithoutMembershipBit) {
    const ib_gid_t mgid{0xff12000000000000, 8};
    const sa_response made = ask(SA_SUBN_ADM_SET, mgid, SA_MC_JOIN_FULL, to_create, 0x7FFF);
    EXPECT_EQ(made.status, 0);
    EXPECT_EQ(made.record<sa_mcmember_record_t>().P_Key, 0x7FFF);
    EXPECT_EQ(ask(SA_SUBN_ADM_SET, mgid, SA_MC_JOIN_FULL).status, 0);
    EXPECT_EQ(
        ask(SA_SUBN_ADM_SET, broadcast, SA_MC_JOIN_FULL, to_join | SA_MC_COMPMASK_PKEY, 0x7FFF)
            .status,
        0);
}

IRPVERBS_ON_BOTH_MACHINES(GroupRules);

class PlannedGroups : public GroupRules {
protected:
    PlannedGroups()
        : GroupRules({.partitions = "Default=0x7fff, ipoib, rate=6, mtu=5, sl=2 :\n"
                                    "  mgid=ff12:401b::0707, sl=1 # of all hosts\n"
                                    "  mgid=ff12:601b:ffff::16, Q_Key=7, TClass=3\n"
                                    "  mgid=ff12::1, Q_Key=0xDEADBEEF, FlowLabel=9, mtu=2\n"
                                    "  mgid=ff12:a01b::5, scope=5, scope=14\n"
                                    "  ALL=full, SELF=full ;\n"
                                    "One=0x1, ipoib, scope=5 : ALL=full ;\n"
                                    "Two=0x2 : ALL=full ;\n"}) {}
};

TEST_P(PlannedGroups, ClausesOfPartitions_MakeTheGroups) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, sa_mcmember_record_t> groups;
    for (const sa_mcmember_record_t& each : client.table<sa_mcmember_record_t>())
        groups[{each.MGID.gid_prefix, each.MGID.gid_guid}] = each;
    const auto described = [&](std::uint64_t prefix, std::uint64_t guid) {
        const sa_mcmember_record_t& is = groups[{prefix, guid}];
        return std::vector<std::uint32_t>{is.MLID, is.P_Key, is.Q_Key,    is.MTU,
                                          is.Rate, is.SL,    is.HopLimit, is.Scope};
    };
    using values = std::vector<std::uint32_t>;
    EXPECT_EQ(groups.size(), 7u);
    EXPECT_EQ(described(0xff12401bffff0000, 0xffffffff),
              (values{0xC000, 0xFFFF, 0xB1B, 5, 6, 2, 0, 2}));
    EXPECT_EQ(described(0xff12401bffff0000, 0x0707),
              (values{0xC001, 0xFFFF, 0xB1B, 5, 6, 1, 0, 2}));
    EXPECT_EQ(described(0xff12601bffff0000, 0x16), (values{0xC002, 0xFFFF, 7, 5, 6, 2, 0, 2}));
    EXPECT_EQ(described(0xff12000000000000, 1),
              (values{0xC003, 0xFFFF, 0xDEADBEEF, 2, 6, 2, 0, 2}));
    EXPECT_EQ(described(0xff15a01b00000000, 5), (values{0xC004, 0xFFFF, 0, 5, 6, 2, 255, 5}));
    EXPECT_EQ(described(0xff1ea01b00000000, 5), (values{0xC005, 0xFFFF, 0, 5, 6, 2, 255, 14}));
    EXPECT_EQ(described(0xff15401b80010000, 0xffffffff),
              (values{0xC006, 0x8001, 0xB1B, 4, 3, 0, 255, 5}));
    EXPECT_EQ((groups[{0xff12000000000000, 1}].FlowLabel), 9u);
    EXPECT_EQ((groups[{0xff12601bffff0000, 0x16}].TClass), 3);
}

IRPVERBS_ON_BOTH_MACHINES(PlannedGroups);

} // namespace
