// Queue pairs on the fabric: bytes move between two HCAs through the verbs and the posts.
#include "connected_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class Traffic : public BothMachines {
protected:
    void connect(ib_qp_type_t type = IB_QPT_RELIABLE_CONN) {
        one.emplace(hcas.fdo(0), type);
        two.emplace(hcas.fdo(1), type);
        one->connect(*two);
        two->connect(*one);
    }
    void link(bool up) {
        EXPECT_EQ(HcaSoftwareSetLink(hcas.guid(0), 1, up ? TRUE : FALSE), STATUS_SUCCESS);
    }

    attached hcas;
    std::optional<connected_end> one;
    std::optional<connected_end> two;
};

TEST_P(Traffic, Send_ArrivesInTheReceive) {
    connect();
    one->fill();
    EXPECT_EQ(two->post_receive(7, 3000), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(5, 3000)), STATUS_SUCCESS);
    const IB_WC received = two->next();
    EXPECT_EQ(received.WrId, 7u);
    EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received.Opcode, ULONG{IB_WC_RECEIVE});
    EXPECT_EQ(received.ByteCount, 3000u);
    EXPECT_EQ(received.QpNumber, two->qp->Num);
    const IB_WC sent = one->next();
    EXPECT_EQ(sent.WrId, 5u);
    EXPECT_EQ(sent.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, 3000));
}

TEST_P(Traffic, Write_ArrivesWithoutTheRemoteConsumer) {
    connect();
    one->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, connected_end::size)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, connected_end::size));
    EXPECT_TRUE(two->has_no_completion());
}

// Its addresses are no addresses of this process, and its memory is out of reach.
TEST_P(Traffic, RegionOfAnUnknownProcess_IsRefused) {
    connect();
    ULONGLONG own = 5;
    const ib_mr_create_t wanted{&own, sizeof(own), IB_AC_REMOTE | IB_AC_LOCAL_WRITE, 0};
    verb_call registration([&](IRP* irp) {
        irp->RequestorMode = UserMode;
        irp->Flags |= IRP_BUFFERED_IO;
        return CiRegisterMr(two->pd(), &wanted, nullptr, irp);
    });
    EXPECT_EQ(registration.status(), STATUS_NOT_SUPPORTED);
}

TEST_P(Traffic, Read_BringsTheRemoteBytes) {
    connect();
    two->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_READ, 1, *two, connected_end::size)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(one->has_bytes_of(*two, connected_end::size));
}

TEST_P(Traffic, FetchAdd_AddsAndBringsTheFormerValue) {
    connect();
    two->number() = 40;
    for (ULONGLONG before = 40; before < 46; before += 2) {
        ib_send_wr_t add = one->remote(WR_FETCH_ADD, before, *two, 8);
        add.remote_ops.atomic1 = 2;
        EXPECT_EQ(one->post(add), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(one->number(), before);
        EXPECT_EQ(two->number(), before + 2);
    }
}

TEST_P(Traffic, ConnectionToTheOwnPort_LoopsBack) {
    one.emplace(hcas.fdo(0));
    two.emplace(hcas.fdo(0));
    one->connect(*two);
    two->connect(*one);
    one->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 5000)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, 5000));
}

TEST_P(Traffic, UnreliableConnection_MovesASend) {
    connect(IB_QPT_UNRELIABLE_CONN);
    one->fill();
    EXPECT_EQ(two->post_receive(1, 2000), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(2, 2000)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two->next().ByteCount, 2000u);
    EXPECT_TRUE(two->has_bytes_of(*one, 2000));
}

TEST_P(Traffic, Query_HasThePacketNumbersOfTheEngine) {
    connect();
    EXPECT_EQ(one->attributes().sq_psn, connected_end::first_psn);
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 3 * 1024)), STATUS_SUCCESS);
    one->next();
    EXPECT_EQ(one->attributes().sq_psn, connected_end::first_psn + 3);
    EXPECT_EQ(two->attributes().rq_psn, connected_end::first_psn + 3);
}

TEST_P(Traffic, RangeBeyondTheRegion_FailsAndFlushesBothEnds) {
    connect();
    EXPECT_EQ(two->post_receive(9, 10), STATUS_SUCCESS);
    ib_send_wr_t beyond = one->remote(WR_RDMA_WRITE, 1, *two, 100);
    beyond.remote_ops.vaddr += connected_end::size - 99;
    EXPECT_EQ(one->post(beyond), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_EQ(two->next().Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(one->attributes().state, IB_QPS_ERROR);
    EXPECT_EQ(two->attributes().state, IB_QPS_ERROR);
}

TEST_P(Traffic, DeregisteredRegion_IsNotWritten) {
    connect();
    one->fill();
    two->deregister();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 100)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_EQ(two->number(), 0u);
}

// A write that is under way when its region ends either fails or is over.
TEST_P(Traffic, DeregistrationUnderTraffic_EndsTheAccesses) {
    connect();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, connected_end::size)), STATUS_SUCCESS);
    two->deregister();
    two->fill();
    const ULONGLONG before = two->number();
    const ULONG status = one->next().Status;
    EXPECT_TRUE(status == IB_WC_REMOTE_ACCESS_ERROR || status == IB_WC_SUCCESS) << status;
    EXPECT_EQ(two->number(), before);
}

TEST_P(Traffic, PacketOfAnotherPartition_IsCountedAndDropped) {
    connect();
    EXPECT_EQ(HcaSoftwareChangePKey(hcas.guid(1), 1, 0, 0x8123), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 100)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_GT(port_block(two->ca(), 1)->PKeyViolations, 0u);
}

TEST_P(Traffic, LidThatThePeerDoesNotExpect_IsDropped) {
    connect();
    one->fill();
    EXPECT_EQ(HcaSoftwareChangeLid(hcas.guid(0), 1, 40), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, 100)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_EQ(two->number(), 0u);
}

TEST_P(Traffic, PulledCableThatReturns_IsRecoveredByRetries) {
    constexpr ULONG size = 20'000; // less than a burst, so that the read is sent when it is posted
    connect();
    one->fill();
    EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, 1, *two, size)), STATUS_SUCCESS);
    link(false);
    EXPECT_EQ(one->post(one->remote(WR_RDMA_READ, 2, *two, 100)), STATUS_SUCCESS);
    link(true);
    for (const ULONGLONG wr_id : {1u, 2u}) {
        const IB_WC done = one->next();
        EXPECT_EQ(done.WrId, wr_id);
        EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
    }
    EXPECT_TRUE(two->has_bytes_of(*one, size));
    HCA_SOFTWARE_COUNTERS counters{};
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(0), 1, &counters), STATUS_SUCCESS);
    EXPECT_GT(counters.TransmitDiscards, 0u) << "packets were lost";
}

TEST_P(Traffic, PulledCableThatStays_ExhaustsTheRetriesAndFlushes) {
    connect();
    EXPECT_EQ(one->post_receive(3, 10), STATUS_SUCCESS);
    link(false);
    EXPECT_EQ(one->post(one->send(1, 100)), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(2, 100)), STATUS_SUCCESS);
    const IB_WC failed = one->next();
    EXPECT_EQ(failed.WrId, 1u);
    EXPECT_EQ(failed.Status, ULONG{IB_WC_RETRY_EXCEEDED});
    for (const ULONGLONG wr_id : {2u, 3u}) {
        const IB_WC flushed = one->next();
        EXPECT_EQ(flushed.WrId, wr_id);
        EXPECT_EQ(flushed.Status, ULONG{IB_WC_FLUSHED});
    }
    EXPECT_EQ(one->attributes().state, IB_QPS_ERROR);
}

TEST_P(Traffic, Flush_CompletesWhatWasPosted) {
    connect();
    EXPECT_EQ(one->post_receive(3, 10), STATUS_SUCCESS);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiFlushQp(one->qp, irp); }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(one->post(one->send(4, 10)), STATUS_SUCCESS);
    const IB_WC late = one->next();
    EXPECT_EQ(late.WrId, 4u);
    EXPECT_EQ(late.Status, ULONG{IB_WC_FLUSHED});
}

TEST_P(Traffic, DestroyUnderTraffic_AddsNoCompletionAfterwards) {
    connect();
    for (ULONGLONG i = 0; i < 4; ++i)
        EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, i, *two, connected_end::size)),
                  STATUS_SUCCESS);
    two->destroy();
    one->destroy();
    one->drain();
    LARGE_INTEGER second;
    second.QuadPart = -10'000'000;
    if (simulated()) KeDelayExecutionThread(KernelMode, FALSE, &second); // all retries are over
    EXPECT_TRUE(one->has_no_completion());
    EXPECT_TRUE(two->has_no_completion());
}

TEST_P(Traffic, Threads_MoveBytesInBothDirections) {
    connect();
    const auto work = [](connected_end& by, connected_end& peer) {
        for (ULONGLONG i = 0; i < 50; ++i) {
            ib_send_wr_t read = by.remote(WR_RDMA_READ, i, peer, 4096);
            read.remote_ops.vaddr += connected_end::size / 2; // the peer's reads don't write there
            EXPECT_EQ(by.post(read), STATUS_SUCCESS);
            const IB_WC done = by.next();
            EXPECT_EQ(done.WrId, i);
            EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
        }
    };
    const system_thread first([&] { work(*one, *two); });
    const system_thread second([&] { work(*two, *one); });
}

IRPVERBS_ON_BOTH_MACHINES(Traffic);

// One end writes, reads, adds and sends over a cable with faults; every byte and every completion
// is right.
TEST(TrafficWithFaults, EachOperation_IsExecutedOnceAndInOrder) {
    constexpr ULONG adds = 3;
    constexpr ULONG size = 20'000;
    dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 100;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [&](dispatch::sim_machine&) {
        attached hcas;
        connected_end one(hcas.fdo(0));
        connected_end two(hcas.fdo(1));
        one.connect(two);
        two.connect(one);
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = 20;
        faults.DuplicationOnceIn = 10;
        faults.ReorderingOnceIn = 10;
        faults.ReorderingTime = 20;
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &faults), STATUS_SUCCESS);
        one.fill();
        EXPECT_EQ(two.post_receive(1, 2500), STATUS_SUCCESS);
        EXPECT_EQ(one.post(one.remote(WR_RDMA_WRITE, 1, two, size)), STATUS_SUCCESS);
        EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(two.has_bytes_of(one, size));
        EXPECT_EQ(one.post(one.send(2, 2500)), STATUS_SUCCESS);
        EXPECT_EQ(two.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
        const ULONGLONG first = two.number();
        for (ULONG i = 0; i < adds; ++i) {
            ib_send_wr_t add = one.remote(WR_FETCH_ADD, i, two, 8);
            add.remote_ops.atomic1 = 1;
            EXPECT_EQ(one.post(add), STATUS_SUCCESS);
            EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
        }
        EXPECT_EQ(two.number(), first + adds);
        EXPECT_EQ(one.post(one.remote(WR_RDMA_READ, 9, two, size)), STATUS_SUCCESS);
        EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(one.has_bytes_of(two, size));
    });
}

// Destructions at any time under traffic: none hangs, and no completion follows one.
TEST(TrafficUnderRaces, DestroyedEnd_AddsNoCompletion) {
    dispatch::explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    options.machine.step_limit = 1'000'000;
    expect_explored(options, [&](dispatch::sim_machine& sim) {
        attached hcas;
        connected_end one(hcas.fdo(0));
        connected_end two(hcas.fdo(1));
        one.connect(two);
        two.connect(one);
        EXPECT_EQ(HcaSoftwareSetCommands(hcas.guid(0), HcaCommandsEither), STATUS_SUCCESS);
        for (ULONGLONG i = 0; i < 3; ++i)
            EXPECT_EQ(one.post(one.remote(WR_RDMA_WRITE, i, two, 3000)), STATUS_SUCCESS);
        EXPECT_EQ(two.post(two.remote(WR_RDMA_READ, 1, one, 3000)), STATUS_SUCCESS);
        const auto end = [](connected_end& which) {
            which.destroy();
            which.drain();
        };
        sim.spawn("one", [&] { end(one); });
        sim.spawn("two", [&] { end(two); });
        sim.run();
        EXPECT_TRUE(one.has_no_completion());
        EXPECT_TRUE(two.has_no_completion());
    });
}

} // namespace
