// PathRecords of the subnet administration: refused queries, paths to multicast groups, paths of
// ports with several LIDs.
#include "administered_subnet.hpp"
#include "topologies.hpp"

#include <sa/sa_query.hpp>

#include <set>

namespace {

using namespace irpverbs::testing;

constexpr std::uint64_t by_gids = SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;
using codes = std::vector<std::uint8_t>;
constexpr ib_gid_t broadcast{0xff12401bffff0000, 0xffffffff};

class PathQueries : public AdministeredSubnet {
protected:
    PathQueries() = default;
    explicit PathQueries(irpverbs::subnet_manager::manager_options options)
        : AdministeredSubnet(std::move(options)) {}

    sa_path_record_t between(std::size_t from, std::size_t to) const {
        sa_path_record_t wanted{};
        wanted.SGID = gid(from);
        wanted.DGID = gid(to);
        return wanted;
    }
    sa_response ask(const sa_path_record_t& wanted, std::uint64_t components) {
        return client.ask(SA_SUBN_ADM_GET_TABLE, SA_PATHRECORD_ATTRID, wanted, components);
    }
    std::uint16_t status_of(const sa_path_record_t& wanted, std::uint64_t components) {
        return ask(wanted, components).status;
    }
    std::size_t count(const sa_path_record_t& wanted, std::uint64_t components) {
        const sa_response got = ask(wanted, components);
        EXPECT_EQ(got.status, 0);
        return got.records<sa_path_record_t>().size();
    }
    std::uint16_t join(std::uint8_t method = SA_SUBN_ADM_SET) {
        sa_mcmember_record_t record{};
        record.MGID = broadcast;
        record.PortGID = gid(2);
        record.JoinState = SA_MC_JOIN_FULL;
        return client
            .ask(method, SA_MCMEMBERRECORD_ATTRID, record,
                 SA_MC_COMPMASK_MGID | SA_MC_COMPMASK_PORTGID | SA_MC_COMPMASK_JOINSTATE)
            .status;
    }
};

// A query that names neither end and matches nothing examines each pair of ports; 600 hosts have
// more of them than one request may cost.
TEST(PathQueriesOfALargeSubnet, NoPathMatches_RequestIsRefusedUnlessItsKeyExcludesThePorts) {
    using namespace irpverbs::subnet_manager;
    subnet net;
    net.nodes = irpverbs::subnet_manager::testing::fat_tree(30, 2, 20);
    net.lids.assign(net.nodes, 0);
    net.manager = net.nodes.end_ports().front();
    net.tables.compute(net.nodes, switch_graph(net.nodes), net.lids);
    std::string problem;
    net.partitions = *parse_partitions("Default=0x7fff : ALL=full;", "partitions", problem);
    const multicast_groups groups;
    const pkey_access access(net, net.manager);
    std::vector<std::uint8_t> data(200);
    sa_path_record_t wanted{};
    wanted.SL = 7; // the paths have SL 0
    wanted.P_Key = 0x1234;
    irpverbs::saa::pack(wanted, data);
    record_list found;
    EXPECT_EQ(find_paths({net, access, groups, SA_PR_COMPMASK_SL, data, true, false}, found),
              SA_STATUS_ERR_NO_RESOURCES);
    EXPECT_EQ(find_paths({net, access, groups, SA_PR_COMPMASK_PKEY, data, true, false}, found),
              SA_STATUS_NO_ERROR);
    EXPECT_EQ(found.count(), 0u);
}

// F2. As in OpenSM, both are checked before the path computation.
TEST_P(PathQueries, MtuOrRateThatIsNoCode_IsRefusedWhateverTheSelector) {
    for (const std::uint8_t selector : codes{0, 1, 2, 3}) {
        sa_path_record_t wanted = between(2, 3);
        wanted.MtuSelector = wanted.RateSelector = selector;
        for (const std::uint8_t mtu : codes{0, 6, 63}) {
            wanted.Mtu = mtu;
            EXPECT_EQ(status_of(wanted, by_gids | SA_PR_COMPMASK_MTU | SA_PR_COMPMASK_MTUSELECTOR),
                      SA_STATUS_ERR_REQ_INVALID);
            EXPECT_EQ(count(wanted, by_gids | SA_PR_COMPMASK_MTU), 1u) << "without its selector";
        }
        for (const std::uint8_t rate : codes{0, 1, 42, 63}) {
            wanted.Rate = rate;
            EXPECT_EQ(
                status_of(wanted, by_gids | SA_PR_COMPMASK_RATE | SA_PR_COMPMASK_RATESELECTOR),
                SA_STATUS_ERR_REQ_INVALID);
        }
    }
}

TEST_P(PathQueries, MultiPathWithMtuThatIsNoCode_IsRefused) {
    sa_multipath_record_t wanted{};
    wanted.SGIDCount = wanted.DGIDCount = 1;
    wanted.MtuSelector = SA_PR_MTU_SEL_EXACTLY;
    std::vector<std::uint8_t> data(200);
    const std::vector<ib_gid_t> ends{gid(1), gid(2)};
    ASSERT_NE(irpverbs::saa::pack_multipath(wanted, ends, data), 0u);
    const auto status = [&](std::uint64_t more) {
        return client
            .ask(SA_SUBN_ADM_GET_MULTI, SA_MULTIPATHRECORD_ATTRID, data,
                 SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT | more,
                 IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP)
            .status;
    };
    EXPECT_EQ(status(0), 0);
    EXPECT_EQ(status(SA_MPR_COMPMASK_MTUSELECTOR | SA_MPR_COMPMASK_MTU), SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(status(SA_MPR_COMPMASK_SERVICEID_HI), SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    EXPECT_EQ(status(SA_MPR_COMPMASK_SERVICEID_LO), SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
}

TEST_P(PathQueries, MembershipQueryWithMtuThatIsNoCode_IsRefused) {
    const sa_mcmember_record_t wanted{};
    EXPECT_EQ(client
                  .ask(SA_SUBN_ADM_GET_TABLE, SA_MCMEMBERRECORD_ATTRID, wanted,
                       SA_MC_COMPMASK_MTU | SA_MC_COMPMASK_MTUSELECTOR)
                  .status,
              SA_STATUS_ERR_REQ_INVALID);
}

TEST_P(PathQueries, OneHalfOfAServiceId_IsInsufficient) {
    const sa_path_record_t wanted = between(2, 3);
    EXPECT_EQ(status_of(wanted, by_gids | SA_PR_COMPMASK_RESERVED),
              SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    EXPECT_EQ(status_of(wanted, by_gids | SA_PR_COMPMASK_RESERVED2),
              SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS);
    EXPECT_EQ(count(wanted, by_gids | SA_PR_COMPMASK_SERVICEID), 1u);
}

TEST_P(PathQueries, GidAndLidOfTwoPorts_AreRefusedUnlessAnEndIsUnknown) {
    sa_path_record_t wanted = between(2, 3);
    wanted.SLID = lid(1);
    EXPECT_EQ(status_of(wanted, by_gids | SA_PR_COMPMASK_SLID), SA_STATUS_ERR_REQ_INVALID);
    EXPECT_EQ(status_of(wanted, SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_SLID),
              SA_STATUS_ERR_REQ_INVALID);
    wanted.DLID = lid(1);
    EXPECT_EQ(status_of(wanted, by_gids | SA_PR_COMPMASK_DLID), SA_STATUS_ERR_REQ_INVALID);
    wanted.DLID = lid(3);
    EXPECT_EQ(count(wanted, by_gids | SA_PR_COMPMASK_DLID), 1u);
    wanted.DLID = 0xBF00;
    EXPECT_EQ(count(wanted, by_gids | SA_PR_COMPMASK_SLID | SA_PR_COMPMASK_DLID), 0u);
}

TEST_P(PathQueries, PathOfRawPackets_HasNoPKey) {
    sa_path_record_t wanted = between(2, 3);
    wanted.RawTraffic = 1;
    wanted.P_Key = 0x1234;
    const auto raw = ask(wanted, by_gids | SA_PR_COMPMASK_RAWTRAFFIC | SA_PR_COMPMASK_PKEY)
                         .records<sa_path_record_t>();
    ASSERT_EQ(raw.size(), 1u);
    EXPECT_EQ(raw[0].P_Key, 0);
    EXPECT_EQ(raw[0].RawTraffic, 1);
    wanted.RawTraffic = 0;
    EXPECT_EQ(
        ask(wanted, by_gids | SA_PR_COMPMASK_RAWTRAFFIC).records<sa_path_record_t>().at(0).P_Key,
        0xFFFF);
}

// F3.
TEST_P(PathQueries, PathToAGroup_HasTheGroupsLidMtuRateAndSl) {
    sa_path_record_t wanted{};
    wanted.DGID = broadcast;
    const auto paths = ask(wanted, SA_PR_COMPMASK_DGID).records<sa_path_record_t>();
    ASSERT_EQ(paths.size(), 1u);
    EXPECT_EQ(paths[0].DGID.gid_prefix, broadcast.gid_prefix);
    EXPECT_EQ(paths[0].DLID, 0xC000);
    EXPECT_EQ(paths[0].Mtu, 4);
    EXPECT_EQ(paths[0].Rate, 3);
    EXPECT_EQ(paths[0].SL, 0);
    EXPECT_EQ(paths[0].P_Key, 0xFFFF);
    EXPECT_EQ(paths[0].PacketLifeTime, 18);
    wanted.DGID.gid_guid = 0x77;
    EXPECT_EQ(count(wanted, SA_PR_COMPMASK_DGID), 0u);
}

TEST_P(PathQueries, PathToAGroupFromAPort_ExistsWhileThePortIsAMember) {
    sa_path_record_t wanted{};
    wanted.DGID = broadcast;
    wanted.SGID = gid(2);
    EXPECT_EQ(count(wanted, by_gids), 0u);
    EXPECT_EQ(join(), 0);
    const auto paths = ask(wanted, by_gids).records<sa_path_record_t>();
    ASSERT_EQ(paths.size(), 1u);
    EXPECT_EQ(paths[0].DLID, 0xC000);
    EXPECT_EQ(paths[0].SLID, lid(2));
    wanted.SLID = lid(2);
    const auto by_lid =
        ask(wanted, SA_PR_COMPMASK_SLID | SA_PR_COMPMASK_DGID).records<sa_path_record_t>();
    ASSERT_EQ(by_lid.size(), 1u);
    EXPECT_EQ(by_lid[0].SGID.gid_guid, gid(2).gid_guid);
    wanted.SGID = gid(3);
    EXPECT_EQ(count(wanted, by_gids), 0u);
    EXPECT_EQ(join(SA_SUBN_ADM_DELETE), 0);
    wanted.SGID = gid(2);
    EXPECT_EQ(count(wanted, by_gids), 0u);
}

TEST_P(PathQueries, PathToAGroup_MatchesTheComponentsThatAreGiven) {
    sa_path_record_t wanted{};
    wanted.DGID = broadcast;
    const auto found = [&](std::uint64_t components) {
        return count(wanted, SA_PR_COMPMASK_DGID | components);
    };
    wanted.DLID = 0xC000;
    EXPECT_EQ(found(SA_PR_COMPMASK_DLID), 1u);
    wanted.DLID = 0xC001;
    EXPECT_EQ(found(SA_PR_COMPMASK_DLID), 0u);
    wanted.P_Key = 0xFFFF;
    EXPECT_EQ(found(SA_PR_COMPMASK_PKEY), 1u);
    wanted.P_Key = 0x7FFF;
    EXPECT_EQ(found(SA_PR_COMPMASK_PKEY), 0u);
    wanted.SL = 1;
    EXPECT_EQ(found(SA_PR_COMPMASK_SL), 0u);
    wanted.TClass = 3;
    EXPECT_EQ(found(SA_PR_COMPMASK_TCLASS), 0u);
    EXPECT_EQ(found(SA_PR_COMPMASK_NUMBPATH), 0u);
    wanted.MtuSelector = SA_PR_MTU_SEL_GREATER;
    wanted.Mtu = 4;
    EXPECT_EQ(found(SA_PR_COMPMASK_MTU | SA_PR_COMPMASK_MTUSELECTOR), 0u);
    wanted.Mtu = 3;
    EXPECT_EQ(found(SA_PR_COMPMASK_MTU | SA_PR_COMPMASK_MTUSELECTOR), 1u);
}

IRPVERBS_ON_BOTH_MACHINES(PathQueries);

class PathsOfManyLids : public PathQueries {
protected:
    PathsOfManyLids() : PathQueries({.lmc = 2}) {}
};

// F5.
TEST_P(PathsOfManyLids, BetweenTwoGids_AreAllPairsOfLidsTheRedundantOnesFirst) {
    const auto paths = ask(between(2, 3), by_gids).records<sa_path_record_t>();
    ASSERT_EQ(paths.size(), 16u);
    std::set<std::pair<ib_lid_t, ib_lid_t>> pairs;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const bool same = paths[i].SLID - lid(2) == paths[i].DLID - lid(3);
        EXPECT_EQ(same, i < 4);
        EXPECT_EQ(paths[i].Preference, same ? 0 : 2);
        EXPECT_TRUE(pairs.emplace(paths[i].SLID, paths[i].DLID).second);
    }
    EXPECT_EQ(paths[4].SLID, lid(2));
    EXPECT_EQ(paths[4].DLID, lid(3) + 1);
}

TEST_P(PathsOfManyLids, WithANumberOrALid_AreTheFirstOrThoseOfTheLid) {
    sa_path_record_t wanted = between(2, 3);
    wanted.NumbPath = 5;
    EXPECT_EQ(count(wanted, by_gids | SA_PR_COMPMASK_NUMBPATH), 5u);
    wanted.DLID = static_cast<ib_lid_t>(lid(3) + 2);
    const auto to_one = ask(wanted, by_gids | SA_PR_COMPMASK_DLID).records<sa_path_record_t>();
    ASSERT_EQ(to_one.size(), 4u);
    EXPECT_EQ(to_one[0].Preference, 0);
    EXPECT_EQ(to_one[1].Preference, 2);
    wanted.SLID = static_cast<ib_lid_t>(lid(2) + 1);
    const auto one = ask(wanted, by_gids | SA_PR_COMPMASK_DLID | SA_PR_COMPMASK_SLID)
                         .records<sa_path_record_t>();
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].SLID, wanted.SLID);
    EXPECT_EQ(one[0].Preference, 0);
}

IRPVERBS_ON_BOTH_MACHINES(PathsOfManyLids);

} // namespace
