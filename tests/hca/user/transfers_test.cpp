// Work requests of clients: the daemon copies between their regions, and reports what it can't
// reach.
#include "../connected_end.hpp"
#include "../unmapped_region.hpp"
#include "client.hpp"

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A daemon, a client of it, and a connection between two open HCAs of the client.
class UserTransfers : public ::testing::Test {
protected:
    void connect() {
        one.connect(other);
        other.connect(one);
    }

    test_daemon serving;
    const client here{serving.uri()};
    connected_end one{first_hca()};
    connected_end other{first_hca()};
};

TEST_F(UserTransfers, Send_ArrivesInTheReceive) {
    connect();
    one.fill();
    EXPECT_EQ(other.post_receive(7, connected_end::size), STATUS_SUCCESS);
    EXPECT_EQ(one.post(one.send(8, connected_end::size)), STATUS_SUCCESS);
    const IB_WC sent = one.next();
    const IB_WC received = other.next();
    EXPECT_EQ(sent.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(sent.WrId, 8u);
    EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(received.WrId, 7u);
    EXPECT_EQ(received.ByteCount, connected_end::size);
    EXPECT_TRUE(other.has_bytes_of(one, connected_end::size));
}

TEST_F(UserTransfers, WriteReadAndAtomics_ReachThePeersRegion) {
    connect();
    one.fill();
    EXPECT_EQ(one.post(one.remote(WR_RDMA_WRITE, 1, other, 5000)), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(other.has_bytes_of(one, 5000));
    other.number() = 40;
    ib_send_wr_t add = one.remote(WR_FETCH_ADD, 2, other, 8);
    add.remote_ops.atomic1 = 2;
    EXPECT_EQ(one.post(add), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.number(), 40u);
    EXPECT_EQ(other.number(), 42u);
    EXPECT_EQ(one.post(one.remote(WR_RDMA_READ, 3, other, 8)), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.number(), 42u);
}

// A send without a receive is repeated, by packets.
TEST_F(UserTransfers, Packets_CarryTheBytesToo) {
    connect();
    one.fill();
    EXPECT_EQ(one.post(one.send(8, connected_end::size)), STATUS_SUCCESS);
    EXPECT_EQ(other.post_receive(7, connected_end::size), STATUS_SUCCESS);
    EXPECT_EQ(other.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(other.has_bytes_of(one, connected_end::size));
}

TEST_F(UserTransfers, OwnPageIsNotMapped_LocalProtectionError) {
    connect();
    const unmapped_region gone(one.pd());
    ib_local_ds_t segment{gone.address(), 64, gone.key};
    ib_send_wr_t send = one.send(1, 64);
    send.ds_array = &segment;
    EXPECT_EQ(other.post_receive(2, 64), STATUS_SUCCESS);
    EXPECT_EQ(one.post(send), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

TEST_F(UserTransfers, PageOfTheReceiveIsNotMapped_BothEndsFail) {
    connect();
    const unmapped_region gone(other.pd());
    ib_local_ds_t segment{gone.address(), 64, gone.key};
    ib_recv_wr_t receive{nullptr, 2, &segment, 1};
    EXPECT_EQ(CiPostRecv(other.qp, &receive, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(one.post(one.send(1, 64)), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_REMOTE_OPERATION_ERROR});
    EXPECT_EQ(other.next().Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

TEST_F(UserTransfers, ListOfWorkRequests_EachHasItsOwnSegments) {
    connect();
    one.fill();
    std::array<ib_local_ds_t, 2> segments{};
    std::array<ib_send_wr_t, 2> list{one.remote(WR_RDMA_WRITE, 1, other, 0),
                                     one.remote(WR_RDMA_WRITE, 2, other, 0)};
    for (ULONG i = 0; i < segments.size(); ++i)
        segments[i] = {one.address() + ULONGLONG{8} * i, 8, one.key()};
    list[0].p_next = &list[1];
    list[0].num_ds = list[1].num_ds = 1;
    list[0].ds_array = &segments[0];
    list[1].ds_array = &segments[1];
    list[1].remote_ops.vaddr += 8;
    EXPECT_EQ(CiPostSend(one.qp, list.data(), nullptr), STATUS_SUCCESS);
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(other.has_bytes_of(one, 16));
}

TEST_F(UserTransfers, FullSharedReceiveQueue_RefusesTheNext) {
    ib_srq_create_t wanted{};
    wanted.max_wr = 4;
    wanted.max_sge = 1;
    IB_SRQ* const queue = create_srq(one.pd(), wanted);
    ib_local_ds_t into{one.address(), 8, one.key()};
    for (ULONG i = 0; i <= queue->MaxWr; ++i) {
        ib_recv_wr_t what{nullptr, i, &into, 1};
        ib_recv_wr_t* failed = nullptr;
        EXPECT_EQ(CiPostSrqRecv(queue, &what, &failed),
                  i < queue->MaxWr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES);
    }
    verb_call destroy([&](IRP* irp) { return CiDestroySrq(queue, nullptr, irp); });
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
}

TEST_F(UserTransfers, PeersPageIsNotMapped_RemoteAccessError) {
    for (const ib_wr_type_t type : {WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD}) {
        connected_end from(first_hca());
        connected_end to(first_hca());
        from.connect(to);
        to.connect(from);
        const unmapped_region gone(to.pd());
        ib_send_wr_t what = from.remote(type, 1, to, 8);
        what.remote_ops = {gone.address(), 1, 0, gone.key};
        EXPECT_EQ(from.post(what), STATUS_SUCCESS);
        EXPECT_EQ(from.next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR}) << type;
    }
}

TEST_F(UserTransfers, InlineData_AreTakenDuringTheCall) {
    connect();
    one.fill();
    std::array<UCHAR, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    ib_local_ds_t segment{reinterpret_cast<std::uintptr_t>(bytes.data()), 8, 0};
    ib_send_wr_t send = one.send(1, 8);
    send.ds_array = &segment;
    send.send_opt |= IB_SEND_OPT_INLINE;
    EXPECT_EQ(other.post_receive(2, 8), STATUS_SUCCESS);
    EXPECT_EQ(one.post(send), STATUS_SUCCESS);
    bytes.fill(0);
    EXPECT_EQ(other.next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(other.has_bytes_of(one, 8));
}

TEST_F(UserTransfers, List_EndsAtTheFirstThatFails) {
    connect();
    std::array<ib_local_ds_t, 64> many{};
    std::array<ib_recv_wr_t, 4> list{};
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i] = {i + 1 < list.size() ? &list[i + 1] : nullptr, i, many.data(), 1};
    list[2].num_ds = 64; // more than the queue pair has
    ib_recv_wr_t* failed = nullptr;
    EXPECT_EQ(CiPostRecv(other.qp, list.data(), &failed), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(failed, &list[2]);
    std::array<ib_recv_wr_t, 20> rest{};
    for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] = {i + 1 < rest.size() ? &rest[i + 1] : nullptr, i, many.data(), 1};
    EXPECT_EQ(CiPostRecv(other.qp, rest.data(), &failed), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(failed, &rest[14]); // the queue has room for 16
}

TEST_F(UserTransfers, ListThatIsLongerThanAMessage_IsPostedWhole) {
    constexpr ULONG count = 8000;
    IB_CQ* cq = create_cq(one.ca(), 16);
    ib_qp_create_t wanted = small_qp(cq);
    wanted.rq_depth = count;
    IB_QP* qp = create_qp(one.pd(), wanted);
    EXPECT_EQ(modify_qp(qp, ci::to_init(IB_QPT_RELIABLE_CONN, {})), STATUS_SUCCESS);
    ib_local_ds_t nothing{};
    std::vector<ib_recv_wr_t> list(count);
    for (ULONG i = 0; i < count; ++i)
        list[i] = {i + 1 < count ? &list[i + 1] : nullptr, i, &nothing, 1};
    ib_recv_wr_t* failed = nullptr;
    EXPECT_EQ(CiPostRecv(qp, list.data(), &failed), STATUS_SUCCESS);
    ib_recv_wr_t one_more{nullptr, count, &nothing, 1};
    while (CiPostRecv(qp, &one_more, &failed) == STATUS_SUCCESS) {
    }
    EXPECT_EQ(failed, &one_more);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_F(UserTransfers, Region_BeyondTheAddressesOfAProcess_IsRefused) {
    const ib_mr_create_t region{reinterpret_cast<void*>(std::uintptr_t{1} << 50), 64,
                                IB_AC_LOCAL_WRITE, 0};
    verb_call refused([&](IRP* irp) { return CiRegisterMr(one.pd(), &region, nullptr, irp); });
    EXPECT_EQ(refused.status(), STATUS_INVALID_PARAMETER);
}

TEST_F(UserTransfers, Atomicity_IsThatOfTheQueuePairsOnly) {
    IB_CA_ATTR attr{};
    verb_call query([&](IRP* irp) { return CiQueryCa(one.ca(), sizeof(attr), &attr, irp); });
    query.status();
    EXPECT_EQ(attr.Atomicity, IB_ATOMIC_HCA);
}

} // namespace
