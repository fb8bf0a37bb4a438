// Unreliable datagrams between queue pairs on the fabric, through the verbs and the posts.
#include "datagram_end.hpp"

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <hca/software.h>

#include <optional>
#include <set>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class DatagramTraffic : public BothMachines {
protected:
    void start() {
        one.emplace(hcas.fdo(0)).start();
        two.emplace(hcas.fdo(1)).start();
    }
    /// The status of a send that stays in this HCA.
    ULONG status_of_send(const ib_send_wr_t& what) {
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        return one->next().Status;
    }
    /// A datagram that arrives proves that an earlier one does not.
    void expect_only(ULONGLONG wr_id) {
        EXPECT_EQ(one->post(one->send(99, 8, *two)), STATUS_SUCCESS);
        const IB_WC received = two->next();
        EXPECT_EQ(received.WrId, wr_id);
        EXPECT_EQ(received.ByteCount, 8 + datagram_end::route_size);
    }

    attached hcas;
    std::optional<datagram_end> one;
    std::optional<datagram_end> two;
};

TEST_P(DatagramTraffic, Send_ArrivesBehindTheRoutesSpace) {
    start();
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    ib_send_wr_t wanted = one->send(5, 1000, *two);
    wanted.send_opt |= IB_SEND_OPT_IMMEDIATE | IB_SEND_OPT_SOLICITED;
    wanted.immediate_data = 0x04030201;
    EXPECT_EQ(one->post(wanted), STATUS_SUCCESS);
    const IB_WC received = two->next();
    EXPECT_EQ(received.WrId, 7u);
    EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received.Opcode, ULONG{IB_WC_RECEIVE});
    EXPECT_EQ(received.ByteCount, 1000 + datagram_end::route_size);
    EXPECT_EQ(received.Immediate, 0x04030201u);
    EXPECT_EQ(received.Flags, IB_WC_IMMEDIATE_PRESENT | IB_WC_SOLICITED);
    EXPECT_EQ(received.QpNumber, two->qp->Num);
    EXPECT_EQ(received.SourceQp, one->qp->Num);
    EXPECT_EQ(received.SourceLid, one->lid());
    EXPECT_EQ(received.ServiceLevel, 2);
    EXPECT_EQ(received.PathBits, 0);
    EXPECT_TRUE(two->has_bytes_of(*one, 1000));
    EXPECT_EQ(std::count(two->route(), two->route() + datagram_end::route_size, 0xEE), 40);
    const IB_WC sent = one->next();
    EXPECT_EQ(sent.WrId, 5u);
    EXPECT_EQ(sent.Status, ULONG{IB_WC_SUCCESS});
}

TEST_P(DatagramTraffic, GlobalRoute_StandsInTheReceive) {
    start();
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    ib_av_attr_t way = one->way_to(two->lid());
    way.grh_valid = TRUE;
    way.grh.dest_gid = two->gid();
    way.grh.flow_label = 0x12345;
    way.grh.traffic_class = 0xAB;
    way.grh.hop_limit = 9;
    EXPECT_EQ(one->post(one->send(5, 6, one->vector(way), two->qp->Num)), STATUS_SUCCESS);
    const IB_WC received = two->next();
    EXPECT_EQ(received.Flags & IB_WC_GRH_PRESENT, IB_WC_GRH_PRESENT);
    const UCHAR* route = two->route();
    EXPECT_EQ(route[0], 0x6A);
    EXPECT_EQ(route[1], 0xB1);
    EXPECT_EQ(route[2] << 8 | route[3], 0x2345);
    EXPECT_EQ(route[4] << 8 | route[5], 12 + 8 + 6 + 2 + 4) << "headers, payload, pad, ICRC";
    EXPECT_EQ(route[6], 0x1B);
    EXPECT_EQ(route[7], 9);
    const auto gid_at = [&](ULONG offset) {
        ib_gid_t gid{};
        for (ULONG i = 0; i < 8; ++i) {
            gid.gid_prefix = gid.gid_prefix << 8 | route[offset + i];
            gid.gid_guid = gid.gid_guid << 8 | route[offset + 8 + i];
        }
        return gid;
    };
    EXPECT_EQ(gid_at(8), one->gid());
    EXPECT_EQ(gid_at(24), two->gid());
    EXPECT_TRUE(two->has_bytes_of(*one, 6));
}

TEST_P(DatagramTraffic, LargestPayload_IsThatOfThePortsMtu) {
    start();
    const ULONG mtu = 128u << port_block(one->ca(), 1)->ActiveMtu;
    EXPECT_EQ(two->post_receive(7, mtu + datagram_end::route_size), STATUS_SUCCESS);
    EXPECT_EQ(status_of_send(one->send(1, mtu, *two)), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two->next().ByteCount, mtu + datagram_end::route_size);
    EXPECT_TRUE(two->has_bytes_of(*one, mtu));
    EXPECT_EQ(status_of_send(one->send(2, mtu + 1, *two)), ULONG{IB_WC_LOCAL_LENGTH_ERROR});
    EXPECT_TRUE(two->has_no_completion());
}

TEST_P(DatagramTraffic, SendError_IsLeftByAModify) {
    start();
    EXPECT_EQ(one->post_receive(3), STATUS_SUCCESS);
    EXPECT_EQ(status_of_send(one->send(1, 8000, *two)), ULONG{IB_WC_LOCAL_LENGTH_ERROR});
    EXPECT_EQ(one->attributes().state, IB_QPS_SQERR);
    EXPECT_EQ(status_of_send(one->send(2, 8, *two)), ULONG{IB_WC_FLUSHED});
    EXPECT_EQ(two->post(two->send(4, 8, *one)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().WrId, 3u) << "receives go on";
    EXPECT_EQ(modify_qp(one->qp, ci::to_state(IB_QPS_RTS)), STATUS_SUCCESS);
    EXPECT_EQ(two->next().WrId, 4u);
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(status_of_send(one->send(5, 8, *two)), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two->next().WrId, 7u);
}

TEST_P(DatagramTraffic, SendToTheOwnPort_LoopsBack) {
    start();
    datagram_end third(hcas.fdo(0));
    third.start();
    for (datagram_end* each : {&third, &*one}) {
        EXPECT_EQ(each->post_receive(7), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(1, 100, *each)), STATUS_SUCCESS);
    }
    EXPECT_EQ(third.next().WrId, 7u);
    EXPECT_TRUE(third.has_bytes_of(*one, 100));
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one->next().SourceQp, one->qp->Num);
}

TEST_P(DatagramTraffic, WrongQKey_IsCountedAndDropped) {
    start();
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    ib_send_wr_t wrong = one->send(1, 100, *two);
    wrong.dgrm.ud.remote_qkey = datagram_end::qkey + 1;
    EXPECT_EQ(one->post(wrong), STATUS_SUCCESS);
    expect_only(7);
    EXPECT_EQ(port_block(two->ca(), 1)->QKeyViolations, 1u);
}

TEST_P(DatagramTraffic, ControlledQKey_MeansThatOfTheQueuePair) {
    start();
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    ib_send_wr_t own = one->send(1, 100, *two);
    own.dgrm.ud.remote_qkey = 0x80000000;
    EXPECT_EQ(one->post(own), STATUS_SUCCESS);
    EXPECT_EQ(two->next().Status, ULONG{IB_WC_SUCCESS});
}

TEST_P(DatagramTraffic, OtherPartition_IsCountedAndDropped) {
    EXPECT_EQ(HcaSoftwareChangePKey(hcas.guid(0), 1, 1, 0x8123), STATUS_SUCCESS);
    start();
    datagram_end other(hcas.fdo(0));
    other.start(1);
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(other.post(other.send(1, 100, *two)), STATUS_SUCCESS);
    expect_only(7);
    EXPECT_EQ(port_block(two->ca(), 1)->PKeyViolations, 1u);
}

TEST_P(DatagramTraffic, NoReceiveOrOneTooShort_IsDroppedAndTheReceiveKept) {
    start();
    EXPECT_EQ(one->post(one->send(1, 100, *two)), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(two->post_receive(7, 100), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(2, 61, *two)), STATUS_SUCCESS);
    expect_only(7);
}

TEST_P(DatagramTraffic, AddressVectorOfAnotherDomainOrWithoutAWay_FailsTheSend) {
    start();
    EXPECT_EQ(one->post(one->send(1, 8, nullptr, two->qp->Num)), STATUS_INVALID_PARAMETER);
    const auto fails = [&](IB_AV* way, ib_qpn_t to) {
        EXPECT_EQ(status_of_send(one->send(1, 8, way, to)), ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR});
        EXPECT_EQ(modify_qp(one->qp, ci::to_state(IB_QPS_RTS)), STATUS_SUCCESS);
    };
    const auto without_way = [&](auto change, ib_qpn_t to) {
        ib_av_attr_t way = one->way_to(two->lid());
        change(way);
        fails(one->vector(way), to);
    };
    const ib_qpn_t to = two->qp->Num;
    fails(two->vector(two->way_to(two->lid())), to);
    without_way([](ib_av_attr_t& way) { way.port_num = 2; }, to);
    without_way([](ib_av_attr_t& way) { way.path_bits = 1; }, to);
    without_way([](ib_av_attr_t& way) { way.dlid = 0; }, to);
    without_way(
        [](ib_av_attr_t& way) {
            way.grh_valid = TRUE;
            way.grh.sgid_index = 77;
        },
        to);
    without_way([](ib_av_attr_t& way) { way.dlid = 0xC000; }, 0xFFFFFF);
    without_way(
        [](ib_av_attr_t& way) {
            way.dlid = 0xC000;
            way.grh_valid = TRUE;
            way.grh.dest_gid = {0xFF12401BFFFF0000, 1};
        },
        to);
}

TEST_P(DatagramTraffic, ModifiedAddressVector_ServesLaterPosts) {
    start();
    datagram_end third(hcas.fdo(0));
    third.start();
    IB_AV* way = one->vector(one->way_to(two->lid()));
    const ib_av_attr_t other = one->way_to(one->lid());
    EXPECT_EQ(two->post_receive(7), STATUS_SUCCESS);
    EXPECT_EQ(third.post_receive(8), STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(1, 8, way, two->qp->Num)), STATUS_SUCCESS);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiModifyAv(way, &other, nullptr, irp); }).status(),
              STATUS_SUCCESS);
    EXPECT_EQ(one->post(one->send(2, 8, way, third.qp->Num)), STATUS_SUCCESS);
    EXPECT_EQ(two->next().WrId, 7u);
    EXPECT_EQ(third.next().WrId, 8u);
}

TEST_P(DatagramTraffic, OperationsOfConnections_AreRefused) {
    start();
    for (const ib_wr_type_t type :
         {WR_RDMA_WRITE, WR_RDMA_READ, WR_COMPARE_SWAP, WR_FETCH_ADD, WR_LOCAL_INV}) {
        ib_send_wr_t wrong = one->send(1, 8, *two);
        wrong.wr_type = type;
        EXPECT_EQ(one->post(wrong), STATUS_INVALID_DEVICE_REQUEST);
    }
}

TEST_P(DatagramTraffic, DestroyUnderTraffic_AddsNoCompletionAfterwards) {
    start();
    for (ULONGLONG i = 0; i < datagram_end::depth; ++i)
        EXPECT_EQ(two->post_receive(i), STATUS_SUCCESS);
    for (ULONGLONG i = 0; i < datagram_end::depth; ++i)
        EXPECT_EQ(one->post(one->send(i, 100, *two)), STATUS_SUCCESS);
    two->destroy();
    one->destroy();
    for (datagram_end* each : {&*one, &*two}) {
        IB_WC entry{};
        while (each->take(entry)) {
        }
        EXPECT_TRUE(each->has_no_completion());
    }
}

IRPVERBS_ON_BOTH_MACHINES(DatagramTraffic);

// Datagrams over a cable with faults: each that arrives is whole, a lost one completes nothing, and
// none arrives more often than it was duplicated.
TEST(DatagramTrafficWithFaults, EachThatArrives_IsWhole) {
    constexpr ULONG count = datagram_end::depth;
    constexpr ULONG room = 400;
    dispatch::explore_options options;
    options.random_runs = 2000;
    options.pct_runs = 1000;
    options.machine.step_limit = 1'000'000;
    ULONG lost = 0;
    ULONG repeated = 0;
    ULONG overtaken = 0;
    expect_explored(options, [&](dispatch::sim_machine&) {
        attached hcas;
        datagram_end one(hcas.fdo(0));
        datagram_end two(hcas.fdo(1));
        one.start();
        two.start();
        HCA_SOFTWARE_FAULTS faults{};
        faults.LossOnceIn = 10;
        faults.DuplicationOnceIn = 10;
        faults.ReorderingOnceIn = 10;
        faults.ReorderingTime = 20;
        EXPECT_EQ(HcaSoftwareSetFaults(hcas.guid(0), 1, &faults), STATUS_SUCCESS);
        for (ULONG i = 0; i < count; ++i)
            EXPECT_EQ(two.post_receive(i, room, i * room), STATUS_SUCCESS);
        IB_AV* way = one.vector(one.way_to(two.lid()));
        for (ULONG i = 0; i < count; ++i) {
            std::fill_n(one.bytes().begin(), 20 + i * 10, static_cast<UCHAR>(i));
            EXPECT_EQ(one.post(one.send(i, 20 + i * 10, way, two.qp->Num)), STATUS_SUCCESS);
            EXPECT_EQ(one.next().WrId, i);
        }
        LARGE_INTEGER second;
        second.QuadPart = -10'000'000;
        KeDelayExecutionThread(KernelMode, FALSE, &second);
        IB_WC entry{};
        std::multiset<ULONG> seen;
        ULONG newest = 0;
        for (ULONG i = 0; two.take(entry); ++i) {
            EXPECT_EQ(entry.WrId, i) << "receives are used in their order";
            EXPECT_EQ(entry.Status, ULONG{IB_WC_SUCCESS});
            const UCHAR* bytes = two.received(static_cast<ULONG>(entry.WrId) * room);
            const ULONG number = bytes[0];
            const ULONG length = entry.ByteCount - datagram_end::route_size;
            EXPECT_EQ(length, 20 + number * 10);
            EXPECT_EQ(static_cast<ULONG>(std::count(bytes, bytes + length, bytes[0])), length);
            overtaken += number < newest ? 1 : 0;
            newest = std::max(newest, number);
            seen.insert(number);
        }
        for (ULONG i = 0; i < count; ++i) {
            EXPECT_LE(seen.count(i), 9u);
            lost += seen.count(i) == 0 ? 1 : 0;
            repeated += seen.count(i) > 1 ? 1 : 0;
        }
    });
    EXPECT_GT(lost, 0u);
    EXPECT_GT(repeated, 0u);
    EXPECT_GT(overtaken, 0u);
}

} // namespace
