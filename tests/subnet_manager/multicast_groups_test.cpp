#include "multicast_components.hpp"

#include <model/multicast_groups.hpp>

#include <dispatch/testing/choices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace irpverbs::subnet_manager {
namespace {

using irpverbs::testing::to_create;
using irpverbs::testing::to_join;
constexpr std::uint64_t mtu_components = SA_MC_COMPMASK_MTUSELECTOR | SA_MC_COMPMASK_MTU;
constexpr ib_sn_prefix_t prefix = 0xfe80000000000000;
const ib_gid_t ipoib{0xff12401bffff0000, 0xffffffff};
const std::vector<ib_pkey_t> full_key{0xffff};

multicast_request request(std::uint64_t port, std::uint8_t state,
                          std::uint64_t components = to_create, ib_gid_t mgid = ipoib) {
    multicast_request r;
    r.record.MGID = mgid;
    r.record.PortGID = {prefix, port};
    r.record.JoinState = state;
    r.record.P_Key = 0xffff;
    r.record.Q_Key = 0xb1b;
    r.components = components;
    r.requester = {prefix, port};
    r.requester_keys = r.port_keys = full_key;
    r.port_known = true;
    r.port_mtu = 5;
    r.port_rate = 12;
    return r;
}

TEST(MulticastGroups, FirstFullMember_CreatesGroup) {
    multicast_groups groups;
    const auto created = groups.join(request(1, SA_MC_JOIN_FULL));
    ASSERT_EQ(created.status, SA_STATUS_NO_ERROR);
    EXPECT_TRUE(created.group_created && created.tree_changed);
    EXPECT_EQ(created.record.MLID, 0xc000);
    EXPECT_EQ(created.record.MTU, 5);
    EXPECT_EQ(created.record.Rate, 12);
    EXPECT_EQ(created.record.MTUSelector, SA_PR_MTU_SEL_EXACTLY);
    EXPECT_EQ(created.record.Scope, 2);
    EXPECT_EQ(created.record.JoinState, SA_MC_JOIN_FULL);
    const auto joined = groups.join(request(2, SA_MC_JOIN_NON, to_join));
    ASSERT_EQ(joined.status, SA_STATUS_NO_ERROR);
    EXPECT_FALSE(joined.group_created);
    EXPECT_EQ(joined.record.Q_Key, 0xb1bu) << "the response has the group's values";
    EXPECT_EQ(joined.record.MLID, 0xc000);
}

TEST(MulticastGroups, NonMemberJoinsFirst_IsRefused) {
    multicast_groups groups;
    EXPECT_EQ(groups.join(request(1, SA_MC_JOIN_NON)).status, SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(groups.join(request(1, SA_MC_JOIN_SEND_ONLY_NON)).status, SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(groups.join(request(1, SA_MC_JOIN_SEND_ONLY_FULL)).status, SA_STATUS_NO_ERROR);
}

TEST(MulticastGroups, MissingComponents_ReturnInsufficientComponents) {
    multicast_groups groups;
    for (std::uint64_t bit = 1; bit <= to_create; bit <<= 1) {
        if ((to_create & bit) == 0) continue;
        EXPECT_EQ(groups.join(request(1, 1, to_create & ~bit)).status,
                  SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS)
            << bit;
    }
    EXPECT_EQ(groups.leave(request(1, 1, SA_MC_COMPMASK_MGID)).status,
              SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    EXPECT_EQ(groups.size(), 0u);
}

TEST(MulticastGroups, IneligiblePort_JoinIsRefused) {
    multicast_groups groups;
    multicast_request r = request(1, 1);
    r.port_known = false;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID);
    r = request(1, 1);
    r.record.PortGID.gid_prefix = 5;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID_GID);
    r = request(1, 0);
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID);
    r = request(1, 1);
    r.record.P_Key = 0x8000;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID);
    const std::vector<ib_pkey_t> other{0x8001};
    r = request(1, 1);
    r.port_keys = other;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID) << "not in the partition";
    EXPECT_EQ(groups.size(), 0u) << "a refused creator leaves no group";
    ASSERT_EQ(groups.join(request(1, 1)).status, SA_STATUS_NO_ERROR);
    r = request(2, 1, to_join);
    r.port_mtu = 4;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID) << "MTU too small";
    r = request(2, 1, to_join);
    r.port_rate = 3;
    EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID) << "too slow";
}

TEST(MulticastGroups, JoinDiffersFromGroup_IsRefused) {
    multicast_groups groups;
    ASSERT_EQ(groups.join(request(1, 1)).status, SA_STATUS_NO_ERROR);
    const auto differs = [&](std::uint64_t component, auto change) {
        multicast_request r = request(2, 1, to_join | component);
        change(r.record);
        EXPECT_EQ(groups.join(r).status, SA_STATUS_ERR_REQ_INVALID) << component;
        r.components = to_join; // ignored, since its component is not selected
        EXPECT_EQ(groups.join(r).status, SA_STATUS_NO_ERROR) << component;
    };
    differs(SA_MC_COMPMASK_QKEY, [](auto& r) { r.Q_Key = 1; });
    differs(SA_MC_COMPMASK_TCLASS, [](auto& r) { r.TClass = 1; });
    differs(SA_MC_COMPMASK_SL, [](auto& r) { r.SL = 1; });
    differs(SA_MC_COMPMASK_FLOWLABEL, [](auto& r) { r.FlowLabel = 1; });
    differs(SA_MC_COMPMASK_HOPLIMIT, [](auto& r) { r.HopLimit = 1; });
    differs(SA_MC_COMPMASK_PKEY, [](auto& r) { r.P_Key = 0x8001; });
    differs(mtu_components, [](auto& r) { r.MTUSelector = SA_PR_MTU_SEL_EXACTLY, r.MTU = 4; });
    differs(mtu_components, [](auto& r) { r.MTUSelector = SA_PR_MTU_SEL_GREATER, r.MTU = 5; });
    differs(mtu_components, [](auto& r) { r.MTUSelector = SA_PR_MTU_SEL_LESS, r.MTU = 5; });
    differs(SA_MC_COMPMASK_RATESELECTOR | SA_MC_COMPMASK_RATE,
            [](auto& r) { r.RateSelector = SA_PR_RATE_SEL_GREATER, r.Rate = 7 + 5; });
}

TEST(MulticastGroups, MtuSelectorAtCreation_DeterminesGroupMtu) {
    const auto made = [](std::uint8_t selector, std::uint8_t value) {
        multicast_groups groups;
        multicast_request r = request(1, 1, to_create | mtu_components);
        r.port_mtu = 4;
        r.record.MTUSelector = selector;
        r.record.MTU = value;
        const auto result = groups.join(r);
        return result.status == SA_STATUS_NO_ERROR ? int{result.record.MTU} : 0;
    };
    EXPECT_EQ(made(SA_PR_MTU_SEL_GREATER, 2), 4) << "the port's MTU";
    EXPECT_EQ(made(SA_PR_MTU_SEL_GREATER, 4), 0);
    EXPECT_EQ(made(SA_PR_MTU_SEL_LESS, 3), 2);
    EXPECT_EQ(made(SA_PR_MTU_SEL_LESS, 5), 4);
    EXPECT_EQ(made(SA_PR_MTU_SEL_LESS, 1), 0);
    EXPECT_EQ(made(SA_PR_MTU_SEL_EXACTLY, 3), 3);
    EXPECT_EQ(made(SA_PR_MTU_SEL_EXACTLY, 5), 0) << "beyond the MTU of the port";
    EXPECT_EQ(made(SA_PR_MTU_SEL_LARGEST_AVAIL, 1), 4);
    EXPECT_EQ(made(SA_PR_MTU_SEL_EXACTLY, 6), 0);
}

TEST(MulticastGroups, MgidAtCreation_GeneratedOrValidated) {
    multicast_groups groups;
    const auto first = groups.join(request(1, 1, to_create, {}));
    const auto second = groups.join(request(1, 1, to_create, {}));
    ASSERT_EQ(first.status, SA_STATUS_NO_ERROR);
    EXPECT_EQ(first.record.MGID.gid_prefix, 0xff12a01bfe800000u);
    EXPECT_NE(first.record.MGID.gid_guid, second.record.MGID.gid_guid);
    EXPECT_NE(first.record.MLID, second.record.MLID);
    for (const std::uint64_t wrong :
         {0xfe12401b00000000u, 0xff52000000000000u, 0xff12a01b00000000u})
        EXPECT_EQ(groups.join(request(1, 1, to_create, {wrong, 1})).status,
                  SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(groups.join(request(1, 1, to_create, {0xff15a01b00000000, 1})).status,
              SA_STATUS_NO_ERROR);
}

TEST(MulticastGroups, DeleteJoinState_RemovesBitsThenMemberThenGroup) {
    multicast_groups groups;
    groups.join(request(1, SA_MC_JOIN_FULL));
    groups.join(request(2, SA_MC_JOIN_FULL | SA_MC_JOIN_NON, to_join));
    const auto part = groups.leave(request(2, SA_MC_JOIN_FULL, to_join));
    ASSERT_EQ(part.status, SA_STATUS_NO_ERROR);
    EXPECT_EQ(part.record.JoinState, SA_MC_JOIN_NON);
    EXPECT_FALSE(part.tree_changed);
    EXPECT_EQ(groups.leave(request(2, SA_MC_JOIN_FULL, to_join)).status, SA_STATUS_ERR_REQ_INVALID)
        << "a bit it does not have";
    const auto last_full = groups.leave(request(1, SA_MC_JOIN_FULL, to_join));
    EXPECT_TRUE(last_full.group_deleted) << "a non-member alone does not keep a group";
    EXPECT_EQ(groups.size(), 0u);
    EXPECT_EQ(groups.leave(request(1, 1, to_join)).status, SA_STATUS_ERR_REQ_INVALID);
}

TEST(MulticastGroups, OtherRequester_ChangesOnlyProxyMembersOfPartition) {
    multicast_groups groups;
    groups.join(request(1, 1));
    multicast_request other = request(1, 1, to_join);
    other.requester = {prefix, 9};
    EXPECT_EQ(groups.leave(other).status, SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(groups.join(other).status, SA_STATUS_ERR_REQ_INVALID);
    multicast_request proxy = request(2, 1, to_join);
    proxy.requester = {prefix, 9};
    ASSERT_EQ(groups.join(proxy).status, SA_STATUS_NO_ERROR);
    EXPECT_EQ(groups.find_group(ipoib)->members[1].proxy, true);
    multicast_request third = request(2, 1, to_join);
    third.requester = {prefix, 10};
    const std::vector<ib_pkey_t> other_keys{0x8001};
    third.requester_keys = other_keys;
    EXPECT_EQ(groups.leave(third).status, SA_STATUS_ERR_REQ_INVALID);
    third.requester_keys = full_key;
    EXPECT_EQ(groups.leave(third).status, SA_STATUS_NO_ERROR);
}

TEST(MulticastGroups, MlidsExhausted_ReusedAfterGroupDeleted) {
    multicast_groups groups(prefix, 2);
    groups.join(request(1, 1, to_create, {0xff12401b00000000, 1}));
    groups.join(request(1, 1, to_create, {0xff12401b00000000, 2}));
    const multicast_request third = request(1, 1, to_create, {0xff12401b00000000, 3});
    EXPECT_EQ(groups.join(third).status, SA_STATUS_ERR_NO_RESOURCES);
    groups.leave(request(1, 1, to_join, {0xff12401b00000000, 1}));
    EXPECT_EQ(groups.join(third).record.MLID, 0xc000);
}

TEST(MulticastGroups, UntrustedRequester_MembersAreHidden) {
    multicast_groups groups;
    groups.join(request(1, 1));
    groups.join(request(2, 1, to_join));
    EXPECT_EQ(groups.find({}, 0, true).size(), 2u);
    const auto open = groups.find({}, 0, false);
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0].PortGID.gid_guid, 0u);
    sa_mcmember_record_t wanted{};
    wanted.PortGID = {prefix, 2};
    EXPECT_EQ(groups.find(wanted, SA_MC_COMPMASK_PORTGID, true).size(), 1u);
    wanted.MTUSelector = SA_PR_MTU_SEL_GREATER;
    wanted.MTU = 4;
    EXPECT_EQ(groups.find(wanted, mtu_components, false).size(), 1u);
    wanted.MTU = 5;
    EXPECT_EQ(groups.find(wanted, mtu_components, false).size(), 0u);
}

TEST(MulticastGroups, PortRemoved_RemovedFromAllGroups) {
    multicast_groups groups;
    groups.join(request(1, 1));
    groups.join(request(2, 1, to_join));
    groups.join(request(1, 1, to_create, {0xff12401b00000000, 1}));
    const auto results = groups.remove_port({prefix, 1});
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].group_deleted + results[1].group_deleted, 1);
    EXPECT_EQ(groups.size(), 1u);
}

// Compares with a map of join states: responses match the map, MLIDs are unique, no group is
// without a full member.
TEST(MulticastGroups, RandomJoinsAndDeletes_MatchModel) {
    for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        dispatch::random_choices source(seed);
        multicast_groups groups(prefix, 3);
        std::map<std::uint64_t, std::map<std::uint64_t, unsigned>> model; // group, port, state
        for (int step = 0; step < 150; ++step) {
            const std::uint64_t g = source.pick(4, "group"), port = 1 + source.pick(4, "port");
            const auto state = static_cast<std::uint8_t>(1 + source.pick(15, "state"));
            const multicast_request r = request(port, state, to_create, {0xff12401b00000000, g});
            if (source.pick(2, "join") == 0) {
                const bool was = model.contains(g);
                const auto result = groups.join(r);
                const bool expected = was || ((state & 9) != 0 && model.size() < 3);
                ASSERT_EQ(result.status == SA_STATUS_NO_ERROR, expected);
                if (!expected) continue;
                model[g][port] |= state;
                EXPECT_EQ(result.record.JoinState, model[g][port]);
                EXPECT_EQ(result.group_created, !was);
            } else {
                const bool has =
                    model.contains(g) && model[g].contains(port) && (state & ~model[g][port]) == 0;
                const auto result = groups.leave(r);
                ASSERT_EQ(result.status == SA_STATUS_NO_ERROR, has);
                if (!has) continue;
                model[g][port] &= ~unsigned{state};
                const bool alive = std::ranges::any_of(
                    model[g], [](const auto& m) { return (m.second & 9) != 0; });
                EXPECT_EQ(result.record.JoinState, alive ? model[g][port] : 0);
                if (model[g][port] == 0) model[g].erase(port);
                EXPECT_EQ(result.group_deleted, !alive);
                if (!alive) model.erase(g);
            }
            std::set<ib_lid_t> mlids;
            for (const auto& record : groups.find({}, 0, false))
                EXPECT_TRUE(mlids.insert(record.MLID).second);
            EXPECT_EQ(mlids.size(), model.size());
        }
    }
}

} // namespace
} // namespace irpverbs::subnet_manager
