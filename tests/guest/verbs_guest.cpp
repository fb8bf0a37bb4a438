// The verbs side of the rdma driver on the kernel's rxe, with events that the kernel itself raises.
// Runs in the guest.
#include "verbs_guest.hpp"

#include <cstring>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

// The link goes down at either end of the cable.
TEST_F(VerbsGuest, LinkEvent_DownAndUp_IsReported) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    for (const char* end : {"rx0", "rx1"}) {
        shell("ip link set " + std::string(end) + " down");
        await(ca, IB_AE_PORT_ERROR);
        EXPECT_NE(port_block(ca, 1)->State, IB_PORT_ACTIVE);
        shell("ip link set " + std::string(end) + " up");
        await(ca, IB_AE_PORT_ACTIVE);
        EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
    }
}

TEST_F(VerbsGuest, IpAddressAddedAndRemoved_GidTableFollows) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    constexpr ib_gid_t gid{0, 0x0000'FFFF'0A4D'0009}; // ::ffff:10.77.0.9
    EXPECT_FALSE(has_gid(ca, gid));
    shell("ip addr add 10.77.0.9/24 dev rx0");
    await_gid(ca, gid, true);
    shell("ip addr del 10.77.0.9/24 dev rx0");
    await_gid(ca, gid, false);
}

// IS_SM and the node description are all that the kernel lets programs change.
TEST_F(VerbsGuest, Modify_IsSmAndDescription_Succeeds) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const open_hca other(hca.fdo());
    const auto changing = [](IB_CA* of, ULONG set, ULONG clear) {
        const IB_MODIFY_PORT what{set, clear, 0};
        const auto verb = [&](IRP* irp) {
            return CiModifyPort(of, 1, IB_MODIFY_PORT_CAPABILITIES, &what, irp);
        };
        return verb_call(verb).status();
    };
    const auto is_sm = [&] { return (port_block(ca, 1)->CapabilityMask & IB_PORT_CAP_IS_SM) != 0; };
    EXPECT_EQ(changing(ca, IB_PORT_CAP_IS_SM, 0), STATUS_SUCCESS);
    EXPECT_TRUE(is_sm());
    EXPECT_EQ(changing(other, IB_PORT_CAP_IS_SM, 0), STATUS_FILE_LOCK_CONFLICT);
    EXPECT_EQ(changing(ca, 0, IB_PORT_CAP_IS_SM), STATUS_SUCCESS);
    EXPECT_FALSE(is_sm());
    IB_MODIFY_CA modify{};
    std::memcpy(modify.NodeDescription, "renamed", 8);
    const auto naming = [&](IRP* irp) {
        return CiModifyCa(ca, IB_MODIFY_CA_NODE_DESCRIPTION, &modify, irp);
    };
    EXPECT_EQ(verb_call(naming).status(), STATUS_SUCCESS);
    shell("grep -q '^renamed$' /sys/class/infiniband/rxe0/node_desc");
}

TEST_F(VerbsGuest, CompletionEvent_OfAQueuePair_IsReportedAndPolled) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    verb_call reported(waiting_for_completion(cq));
    EXPECT_EQ(verb_call(arming(cq)).status(), STATUS_SUCCESS);
    EXPECT_FALSE(reported.done());
    queue_pair sender(listening::latest());
    std::vector<std::uint64_t> seen;
    sender.send(1);
    EXPECT_STREQ(name_of(reported.status()), "STATUS_SUCCESS");
    sender.send(2);
    sender.send(3);
    while (seen.size() < 3 && !HasFailure()) {
        verb_call more(waiting_for_completion(cq)); // completes also for an earlier entry
        EXPECT_EQ(verb_call(arming(cq)).status(), STATUS_SUCCESS);
        EXPECT_STREQ(name_of(more.status()), "STATUS_SUCCESS");
        for (const std::uint64_t each : poll(cq))
            seen.push_back(each);
    }
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));
}

// Polls the provider directly, and under the lock after an arm or a query has fetched entries.
TEST_F(VerbsGuest, PollWithoutIrp_ReturnsCompletionsInOrder) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    const destroyed_at_the_end cq{create_cq(ca, 16)};
    queue_pair sender(listening::latest());
    std::vector<std::uint64_t> seen;
    const auto take = [&](ULONG most) {
        std::vector<IB_WC> entries(most);
        ULONG taken = 0;
        EXPECT_STREQ(name_of(CiGetCqResults(cq, most, entries.data(), &taken)), "STATUS_SUCCESS");
        for (ULONG i = 0; i < taken; ++i) {
            EXPECT_EQ(entries[i].Status, ULONG{IB_WC_SUCCESS});
            seen.push_back(entries[i].WrId);
        }
    };
    std::vector<std::uint64_t> sent;
    for (std::uint64_t round = 0; round < 6; ++round) {
        for (int i = 0; i < 100; ++i)
            take(16);
        for (std::uint64_t id = 10 * round; id < 10 * round + 3; ++id) {
            sender.send(id);
            sent.push_back(id);
        }
        take(1);
        if (round % 3 == 1) {
            EXPECT_EQ(verb_call(arming(cq)).status(), STATUS_SUCCESS);
        } else if (round % 3 == 2) {
            IB_CQ_ATTR attr{};
            verb_call query([&](IRP* irp) { return CiQueryCq(cq, sizeof(attr), &attr, irp); });
            EXPECT_STREQ(name_of(query.status()), "STATUS_SUCCESS");
            EXPECT_LE(attr.Filled, sent.size() - seen.size());
        }
        while (seen.size() < sent.size() && !HasFailure())
            take(2);
    }
    EXPECT_EQ(seen, sent);
}

// The kernel raises an event for each lost entry.
TEST_F(VerbsGuest, QueueOverrun_OfSeveralEntries_IsReportedOnce) {
    const device hca("rxe0");
    const open_hca ca(hca.fdo());
    IB_CQ* cq = create_cq(ca, 1);
    verb_call error(waiting_for_error(cq));
    verb_call again(waiting_for_error(cq));
    {
        queue_pair sender(listening::latest());
        for (std::uint64_t id = 0; id < queue_pair::depth; ++id)
            sender.send(id);
        EXPECT_STREQ(name_of(error.status()), "STATUS_SUCCESS");
        EXPECT_EQ(error.information(), static_cast<ULONG_PTR>(IB_AE_CQ_ERROR));
    }
    EXPECT_EQ(poll(cq).front(), 0u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS); // all of the queue's events are acknowledged
    EXPECT_STREQ(name_of(again.status()), "STATUS_CANCELLED");
}

// The removal waits for the last close; then the device can be added again.
TEST_F(VerbsGuest, DeviceRemoval_WithPendingVerbs_CompletesThem) {
    std::unique_ptr<system_thread> remover;
    {
        const device hca("rxe1");
        IB_CA* ca = open_ca(hca.fdo());
        IB_CQ* cq = create_cq(ca, 16);
        verb_call fatal(waiting_for_end(ca));
        verb_call port(waiting_for_port(ca));
        verb_call completion(waiting_for_completion(cq));
        verb_call error(waiting_for_error(cq));
        remover = std::make_unique<system_thread>([] { shell("rdma link delete rxe1"); });
        create_until_the_end(ca);
        EXPECT_STREQ(name_of(fatal.status()), "STATUS_SUCCESS");
        EXPECT_STREQ(name_of(verb_call(arming(cq)).status()), "STATUS_FILE_FORCED_CLOSED");
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        for (verb_call* each : {&port, &completion, &error})
            EXPECT_STREQ(name_of(each->status()), "STATUS_CANCELLED");
    }
    remover->join();
    shell("rdma link add rxe1 type rxe netdev rx1");
    const device back("rxe1");
    const open_hca ca(back.fdo());
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
}

} // namespace
