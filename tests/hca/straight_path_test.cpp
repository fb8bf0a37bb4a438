// Work requests that pass straight through the fabric: no client sees a difference, and changes
// of the fabric or of an end lead the next ones back to packets.
#include "connected_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class StraightPath : public BothMachines {
protected:
    void connect(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        one.emplace(hcas.fdo(0), type);
        two.emplace(hcas.fdo(1), type);
        one->connect(*two);
        two->connect(*one);
    }
    HCA_SOFTWARE_COUNTERS counters(unsigned hca) const {
        HCA_SOFTWARE_COUNTERS seen{};
        EXPECT_EQ(HcaSoftwareCounters(hcas.guid(hca), 1, &seen), STATUS_SUCCESS);
        return seen;
    }
    /// Faults that never happen: packets are needed.
    void need_packets() {
        const HCA_SOFTWARE_FAULTS none{};
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &none), STATUS_SUCCESS);
    }
    void execute_each() {
        EXPECT_EQ(two->post_receive(1, 3000), STATUS_SUCCESS);
        execute(one->send(1, 2999));
        for (const ULONG length : {0u, 7u, 1024u, 5001u})
            execute(one->remote(WR_RDMA_WRITE, 1, *two, length));
        for (const ULONG length : {1u, 1024u, 5001u})
            execute(one->remote(WR_RDMA_READ, 1, *two, length));
        execute(one->remote(WR_FETCH_ADD, 1, *two, 8));
        EXPECT_EQ(two->next().Status, ULONG{IB_WC_SUCCESS});
    }
    void execute(ib_send_wr_t what) {
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    }

    /// Waits until that many lie in the queue of the one.
    void wait_for_completions(ULONG count) const {
        LARGE_INTEGER millisecond;
        millisecond.QuadPart = -10'000;
        for (unsigned turn = 0; turn < 1000 && one->queued() < count; ++turn)
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
    }

    attached hcas;
    std::optional<connected_end> one;
    std::optional<connected_end> two;
};

/// On a simulated machine a choice decides which way a work request takes.
class StraightPathOfARealMachine : public StraightPath {};

TEST_P(StraightPathOfARealMachine, FabricWithoutFaults_CompletionExistsWhenThePostReturns) {
    connect();
    one->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, connected_end::size)), STATUS_SUCCESS);
    IB_WC done{};
    EXPECT_TRUE(one->take(done));
    EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, connected_end::size));
}

TEST_P(StraightPath, Counters_AreThoseOfPackets) {
    connect();
    HCA_SOFTWARE_COUNTERS before[2] = {counters(0), counters(1)};
    execute_each();
    HCA_SOFTWARE_COUNTERS between[2] = {counters(0), counters(1)};
    need_packets();
    execute_each();
    for (unsigned i = 0; i < 2; ++i) {
        const HCA_SOFTWARE_COUNTERS after = counters(i);
        const auto same = [&](ULONGLONG HCA_SOFTWARE_COUNTERS::*counter) {
            EXPECT_EQ(between[i].*counter - before[i].*counter,
                      after.*counter - between[i].*counter);
        };
        same(&HCA_SOFTWARE_COUNTERS::TransmitPackets);
        same(&HCA_SOFTWARE_COUNTERS::TransmitData);
        same(&HCA_SOFTWARE_COUNTERS::TransmitUnicasts);
        same(&HCA_SOFTWARE_COUNTERS::ReceivePackets);
        same(&HCA_SOFTWARE_COUNTERS::ReceiveData);
        EXPECT_GT(after.TransmitPackets, between[i].TransmitPackets);
    }
}

TEST_P(StraightPath, ModifiedPeer_IsNotWritten) {
    connect();
    execute(one->remote(WR_RDMA_WRITE, 1, *two, 8));
    ib_qp_mod_t no_access{};
    no_access.opts = IB_MOD_QP_ACCESS_CTRL;
    no_access.access_ctrl = IB_AC_LOCAL_WRITE;
    EXPECT_EQ(modify_qp(two->qp, no_access), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 2, *two, 8)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
}

TEST_P(StraightPath, ListThatFailsInTheMiddle_HasExecutedTheFirst) {
    connect();
    one->fill();
    ib_local_ds_t none{0, 0, 0};
    std::array<ib_send_wr_t, 3> list;
    list.fill(one->remote(WR_RDMA_WRITE, 0, *two, 100));
    for (ULONG i = 0; i < 3; ++i) {
        list[i].wr_id = i;
        list[i].p_next = i < 2 ? &list[i + 1] : nullptr;
    }
    list[1].wr_type = WR_SEND;
    list[1].ds_array = &none;
    list[1].num_ds = 100;
    ib_send_wr_t* failed = nullptr;
    EXPECT_EQ(CiPostSend(one->qp, list.data(), &failed), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed, &list[1]);
    const IB_WC done = one->next();
    EXPECT_EQ(done.WrId, 0u);
    EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(one->has_no_completion());
    EXPECT_TRUE(two->has_bytes_of(*one, 100));
}

TEST_P(StraightPath, FullCompletionQueue_FailsItsQueuePair) {
    constexpr ULONG entries = 64; // of the queue of a connected_end
    connect();
    std::optional<verb_call> event;
    event.emplace([&](IRP* irp) { return CiGetQpAsyncEvent(one->qp, irp); });
    for (ULONG i = 0; i < entries; ++i) {
        EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, i, *two, 8)), STATUS_SUCCESS);
        if (i % 8 == 7) wait_for_completions(i + 1);
    }
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, entries, *two, 8)), STATUS_SUCCESS);
    EXPECT_EQ(event->status(), STATUS_SUCCESS);
    EXPECT_EQ(event->information(), ULONG_PTR{IB_AE_WQ_FATAL});
    EXPECT_EQ(one->attributes().state, IB_QPS_ERROR);
}

IRPVERBS_ON_BOTH_MACHINES(StraightPath);
INSTANTIATE_TEST_SUITE_P(On, StraightPathOfARealMachine, ::testing::Values(machine_kind::real));

// Writes and adds of two threads while links fail, faults come and go, and an end is modified: what
// completes successfully was executed once.
TEST(StraightPathUnderRaces, ChangesOfTheFabric_EachAddIsExecutedOnce) {
    constexpr ULONG adds = 6;
    dispatch::explore_options options;
    options.random_runs = 500;
    options.pct_runs = 300;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [&](dispatch::sim_machine& sim) {
        attached hcas;
        connected_end one(hcas.fdo(0));
        connected_end two(hcas.fdo(1));
        one.connect(two);
        two.connect(one);
        const auto add = [](connected_end& from, connected_end& to) {
            for (ULONG i = 0; i < adds; ++i) {
                ib_send_wr_t what = from.remote(WR_FETCH_ADD, i, to, 8);
                what.ds_array->vaddr += 8; // the result lies behind the number
                what.remote_ops.atomic1 = 1;
                EXPECT_EQ(from.post(what), STATUS_SUCCESS);
                const IB_WC done = from.next();
                EXPECT_EQ(done.WrId, i);
                EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
            }
        };
        sim.spawn("one", [&] { add(one, two); });
        sim.spawn("two", [&] { add(two, one); });
        sim.spawn("fabric", [&] {
            HCA_SOFTWARE_FAULTS faults{};
            faults.DuplicationOnceIn = 3;
            EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &faults), STATUS_SUCCESS);
            EXPECT_EQ(HcaSoftwareFlapLink(hcas.guid(1), 1), STATUS_SUCCESS);
            EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, nullptr), STATUS_SUCCESS);
            ib_qp_mod_t access{};
            access.opts = IB_MOD_QP_ACCESS_CTRL;
            access.access_ctrl = IB_AC_REMOTE | IB_AC_LOCAL_WRITE;
            EXPECT_EQ(modify_qp(two.qp, access), STATUS_SUCCESS);
        });
        sim.run();
        EXPECT_EQ(one.number(), ULONGLONG{adds});
        EXPECT_EQ(two.number(), ULONGLONG{adds});
    });
}

} // namespace
