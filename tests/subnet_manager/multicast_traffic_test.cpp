// Datagrams to multicast groups, between queue pairs of hosts that joined through the subnet
// administration: the switches forward by the tables that the subnet manager programmed.
#include "../hca/datagram_end.hpp"
#include "managed_fabric.hpp"
#include "multicast_components.hpp"
#include "sa_client.hpp"

#include <hca/software.h>
#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <array>
#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr ib_qpn_t all_of_group = 0xFFFFFF;

/// The attachment of an end to a group.
class attachment {
public:
    attachment(const datagram_end& end, const sa_mcmember_record_t& group)
        : made_(attach_mcast(end.qp, group.MGID, group.MLID)) {}
    ~attachment() { EXPECT_EQ(detach_mcast(made_), STATUS_SUCCESS); }
    attachment(const attachment&) = delete;
    attachment& operator=(const attachment&) = delete;

private:
    IB_MCAST* made_;
};

/// Two hosts at each of two switches; the subnet manager runs on the first.
struct multicast_subnet {
    multicast_subnet() { EXPECT_EQ(manager.wait_until_up(), STATUS_SUCCESS); }

    ib_lid_t lid(std::size_t host) const { return open_hca(hcas.fdo(host)).lid(); }
    sa_mcmember_record_t member(std::size_t host, std::uint64_t number) const {
        sa_mcmember_record_t record{};
        record.MGID = {0xff12401bffff0000, number};
        record.PortGID = {IB_DEFAULT_GID_PREFIX, hcas.guid(host) + 1};
        record.JoinState = SA_MC_JOIN_FULL;
        record.P_Key = 0xFFFF;
        record.Q_Key = datagram_end::qkey;
        return record;
    }
    /// Returns the group.
    sa_mcmember_record_t join(std::size_t host, std::uint64_t number = 1) const {
        sa_client by(hcas.guid(host), lid(0));
        const sa_response done =
            by.ask(SA_SUBN_ADM_SET, SA_MCMEMBERRECORD_ATTRID, member(host, number), to_create);
        EXPECT_EQ(done.code, IBMF_SUCCESS);
        EXPECT_EQ(done.status, 0);
        return done.record<sa_mcmember_record_t>();
    }
    void leave(std::size_t host, std::uint64_t number = 1) const {
        sa_client by(hcas.guid(host), lid(0));
        EXPECT_EQ(
            by.ask(SA_SUBN_ADM_DELETE, SA_MCMEMBERRECORD_ATTRID, member(host, number), to_join)
                .status,
            0);
    }
    std::unique_ptr<datagram_end> end_at(std::size_t host) const {
        auto made = std::make_unique<datagram_end>(hcas.fdo(host));
        made->start();
        return made;
    }

    attached hcas{unmanaged()};
    running_manager manager{{.hca = hcas.guid(0)}};
};

ib_av_attr_t way_to(const datagram_end& from, const sa_mcmember_record_t& group) {
    ib_av_attr_t way = from.way_to(group.MLID);
    way.sl = 0;
    way.grh_valid = TRUE;
    way.grh.dest_gid = group.MGID;
    way.grh.hop_limit = 1;
    return way;
}

void send(datagram_end& from, const sa_mcmember_record_t& group, ULONG length) {
    EXPECT_EQ(from.post(from.send(77, length, from.vector(way_to(from, group)), all_of_group)),
              STATUS_SUCCESS);
}

/// The datagrams that arrive within a second.
unsigned copies_at(const datagram_end& end) {
    LARGE_INTEGER second;
    second.QuadPart = -10'000'000;
    KeDelayExecutionThread(KernelMode, FALSE, &second);
    unsigned count = 0;
    for (IB_WC entry{}; end.take(entry);)
        count += entry.Opcode == IB_WC_RECEIVE ? 1 : 0;
    return count;
}

class MulticastTraffic : public BothMachines, protected multicast_subnet {
protected:
    static void post_receives(datagram_end& end) {
        for (ULONGLONG i = 0; i < 4; ++i)
            EXPECT_EQ(end.post_receive(i), STATUS_SUCCESS);
    }
};

TEST_P(MulticastTraffic, Send_ReachesEachAttachedQueuePairOfEachMember) {
    const sa_mcmember_record_t group = join(1);
    join(2);
    join(3);
    const auto sender = end_at(1), beside = end_at(1), far = end_at(2), farther = end_at(3);
    const auto apart = end_at(3), outside = end_at(0);
    const attachment all[] = {
        {*sender, group}, {*beside, group}, {*far, group}, {*farther, group}, {*outside, group}};
    for (datagram_end* each : {&*sender, &*beside, &*far, &*farther, &*apart, &*outside})
        post_receives(*each);
    send(*sender, group, 500);
    for (const datagram_end* each : {&*beside, &*far, &*farther}) {
        const IB_WC received = each->next();
        EXPECT_EQ(received.ByteCount, 500 + datagram_end::route_size);
        EXPECT_EQ(received.Flags & IB_WC_GRH_PRESENT, IB_WC_GRH_PRESENT);
        EXPECT_EQ(received.SourceQp, sender->qp->Num);
        EXPECT_EQ(received.SourceLid, sender->lid());
        EXPECT_TRUE(each->has_bytes_of(*sender, 500));
        EXPECT_EQ(each->route()[24], 0xFF) << "the group's GID";
        EXPECT_EQ(copies_at(*each), 0u) << "more than one copy";
    }
    EXPECT_EQ(copies_at(*sender), 1u) << "the sender is attached, too";
    EXPECT_EQ(copies_at(*apart), 0u) << "it is not attached";
    EXPECT_EQ(copies_at(*outside), 0u) << "its port is no member";
}

TEST_P(MulticastTraffic, AttachedTwice_ReceivesOneCopyUntilBothEnd) {
    const sa_mcmember_record_t group = join(1);
    join(2);
    const auto sender = end_at(1), far = end_at(2);
    post_receives(*far);
    auto first = std::make_unique<attachment>(*far, group);
    auto second = std::make_unique<attachment>(*far, group);
    send(*sender, group, 20);
    EXPECT_EQ(copies_at(*far), 1u);
    second.reset();
    send(*sender, group, 20);
    EXPECT_EQ(copies_at(*far), 1u);
    first.reset();
    send(*sender, group, 20);
    EXPECT_EQ(copies_at(*far), 0u);
}

TEST_P(MulticastTraffic, GroupsOfOneLid_DifferByTheirGid) {
    const sa_mcmember_record_t group = join(1);
    join(2);
    sa_mcmember_record_t other = group;
    other.MGID.gid_guid ^= 0x100; // the same list of attachments
    const auto sender = end_at(1), one = end_at(2), two = end_at(2);
    const attachment of_group(*one, group), of_other(*two, other);
    post_receives(*one);
    post_receives(*two);
    send(*sender, other, 20);
    EXPECT_EQ(copies_at(*one), 0u);
    EXPECT_EQ(copies_at(*two), 1u);
}

TEST_P(MulticastTraffic, QueuePairOfAnotherQKey_DropsItsCopyOnly) {
    const sa_mcmember_record_t group = join(1);
    join(2);
    const auto sender = end_at(1), one = end_at(2), two = end_at(2);
    const attachment first(*one, group), second(*two, group);
    post_receives(*one);
    post_receives(*two);
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_QKEY;
    change.qkey = datagram_end::qkey + 1;
    EXPECT_EQ(modify_qp(one->qp, change), STATUS_SUCCESS);
    send(*sender, group, 20);
    EXPECT_EQ(copies_at(*one), 0u);
    EXPECT_EQ(copies_at(*two), 1u);
    EXPECT_EQ(port_block(one->ca(), 1)->QKeyViolations, 1u);
}

TEST_P(MulticastTraffic, PortThatLeft_ReceivesNothing) {
    const sa_mcmember_record_t group = join(1);
    join(2);
    join(3);
    const auto sender = end_at(1), stays = end_at(2), leaves = end_at(3);
    const attachment first(*stays, group), second(*leaves, group);
    post_receives(*stays);
    post_receives(*leaves);
    leave(3);
    send(*sender, group, 20);
    EXPECT_EQ(copies_at(*stays), 1u);
    EXPECT_EQ(copies_at(*leaves), 0u);
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(MulticastTraffic);

// Groups over cables with faults, while queue pairs attach and detach: a copy is whole, and arrives
// at none that is not attached.
TEST(MulticastTrafficWithFaults, EachCopy_IsWholeAndOfTheGroup) {
    dispatch::explore_options options;
    options.random_runs = 1500;
    options.pct_runs = 500;
    options.machine.step_limit = 10'000'000;
    unsigned arrived = 0;
    expect_explored(options, [&](dispatch::sim_machine& sim) {
        const multicast_subnet subnet;
        std::array<sa_mcmember_record_t, 2> groups;
        for (std::uint64_t i = 0; i < 2; ++i)
            for (const std::size_t host : {1u, 2u, 3u})
                groups[i] = subnet.join(host, i + 1);
        const auto sender = subnet.end_at(1), churning = subnet.end_at(2), far = subnet.end_at(3);
        const attachment of_first(*far, groups[0]);
        for (ULONGLONG i = 0; i < datagram_end::depth; ++i) {
            EXPECT_EQ(far->post_receive(i, 400, static_cast<ULONG>(i) * 400), STATUS_SUCCESS);
            EXPECT_EQ(churning->post_receive(i, 400, static_cast<ULONG>(i) * 400), STATUS_SUCCESS);
        }
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = faults.DuplicationOnceIn = faults.ReorderingOnceIn = 8;
        faults.ReorderingTime = 20;
        for (const std::size_t host : {1u, 3u})
            EXPECT_EQ(HcaSoftwareSetFaults(subnet.hcas.guid(host), 1, &faults), STATUS_SUCCESS);
        std::array<IB_AV*, 2> ways{};
        for (std::size_t i = 0; i < 2; ++i)
            ways[i] = sender->vector(way_to(*sender, groups[i]));
        sim.spawn("attacher", [&] {
            for (unsigned i = 0; i < 4; ++i)
                const attachment passing(*churning, groups[i % 2]);
        });
        sim.spawn("sender", [&] {
            for (ULONG i = 0; i < 8; ++i) {
                const ULONG length = 20 + i * 10;
                std::fill_n(sender->bytes().begin(), length, static_cast<UCHAR>(i));
                EXPECT_EQ(sender->post(sender->send(i, length, ways[i % 2], all_of_group)),
                          STATUS_SUCCESS);
                EXPECT_EQ(sender->next().Status, ULONG{IB_WC_SUCCESS});
            }
        });
        sim.run();
        LARGE_INTEGER second;
        second.QuadPart = -10'000'000;
        KeDelayExecutionThread(KernelMode, FALSE, &second);
        for (const datagram_end* each : {&*far, &*churning}) {
            for (IB_WC entry{}; each->take(entry); ++arrived) {
                const UCHAR* bytes = each->received(static_cast<ULONG>(entry.WrId) * 400);
                const ULONG length = entry.ByteCount - datagram_end::route_size;
                EXPECT_EQ(length, 20u + bytes[0] * 10u);
                EXPECT_EQ(static_cast<ULONG>(std::count(bytes, bytes + length, bytes[0])), length);
                EXPECT_TRUE(each != &*far || bytes[0] % 2 == 0) << "a datagram of the other group";
            }
        }
    });
    EXPECT_GT(arrived, 0u);
}

} // namespace
