// The software HCA and the kernel's soft-RoCE exchange RoCEv2 packets, with each operation in both
// directions; the bytes are compared. Runs in the guest.
#include "roce_ends.hpp"

#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// True: the software HCA posts the requests; false: soft-RoCE does.
enum class direction { ours_to_kernel, kernel_to_ours };

class RoceGuest : public ::testing::TestWithParam<std::tuple<bool, direction>> {
protected:
    static void SetUpTestSuite() { ends = std::make_unique<roce_ends>(); }
    static void TearDownTestSuite() { ends.reset(); }

    void connect(ib_qp_type_t type = IB_QPT_RELIABLE_CONN, IB_MTU mtu = IB_MTU_1024) {
        const auto [is_version_4, which] = GetParam();
        roce_end from = ends->ours(is_version_4);
        roce_end to = ends->kernels(is_version_4);
        if (which == direction::kernel_to_ours) std::swap(from, to);
        one.emplace(from.fdo, type);
        two.emplace(to.fdo, type);
        one->connect(from.way_to(to.gid), two->qp->Num, mtu);
        two->connect(to.way_to(from.gid), one->qp->Num, mtu);
    }
    void send(ULONG size) {
        one->fill();
        one->number() = ++sent_;
        EXPECT_EQ(two->post_receive(7, size), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(5, size)), STATUS_SUCCESS);
        const IB_WC received = two->next();
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.ByteCount, size);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(two->has_bytes_of(*one, size)) << size;
    }
    void execute(ib_send_wr_t what) {
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    }
    void write(ULONG size) {
        one->fill();
        one->number() = ++sent_;
        execute(one->remote(WR_RDMA_WRITE, 1, *two, size));
        EXPECT_TRUE(two->has_bytes_of(*one, size)) << size;
    }
    void read(ULONG size) {
        two->fill();
        two->number() = ++sent_;
        execute(one->remote(WR_RDMA_READ, 1, *two, size));
        EXPECT_TRUE(one->has_bytes_of(*two, size)) << size;
    }
    void add(ULONGLONG what) {
        const ULONGLONG before = two->number();
        ib_send_wr_t made = one->remote(WR_FETCH_ADD, 1, *two, 8);
        made.remote_ops.atomic1 = what;
        execute(made);
        EXPECT_EQ(one->number(), before);
        EXPECT_EQ(two->number(), before + what);
    }

    static inline std::unique_ptr<roce_ends> ends;
    std::optional<connected_end> one;
    std::optional<connected_end> two;

private:
    ULONGLONG sent_ = 0x0123456789ABCD00;
};

TEST_P(RoceGuest, Sends_ArriveWithTheirBytes) {
    for (const IB_MTU mtu : {IB_MTU_1024, IB_MTU_4096}) {
        connect(IB_QPT_RELIABLE_CONN, mtu);
        for (const ULONG size : {8u, 1000u, 1024u, 1025u, 4096u, 16384u, 65536u})
            for (int i = 0; i < 2; ++i)
                send(size);
        one.reset();
        two.reset();
    }
}

TEST_P(RoceGuest, UnreliableSends_ArriveWithTheirBytes) {
    connect(IB_QPT_UNRELIABLE_CONN);
    for (const ULONG size : {8u, 1024u, 5000u})
        for (int i = 0; i < 4; ++i)
            send(size);
}

TEST_P(RoceGuest, WritesAndReads_MoveTheBytes) {
    connect();
    for (const ULONG size : {8u, 1024u, 4097u, connected_end::size}) {
        write(size);
        read(size);
    }
}

TEST_P(RoceGuest, Atomics_ReturnTheFormerNumber) {
    connect();
    two->number() = 0x1122334455667788;
    add(1);
    add(~0ull);
    ib_send_wr_t swap = one->remote(WR_COMPARE_SWAP, 1, *two, 8);
    swap.remote_ops.atomic1 = 0x1122334455667788;
    swap.remote_ops.atomic2 = 42;
    execute(swap);
    EXPECT_EQ(two->number(), 42u);
    execute(swap);
    EXPECT_EQ(one->number(), 42u);
    EXPECT_EQ(two->number(), 42u);
}

TEST_P(RoceGuest, ImmediateData_ArrivesWithSendsAndWrites) {
    connect();
    for (const ib_wr_type_t type : {WR_SEND, WR_RDMA_WRITE}) {
        EXPECT_EQ(two->post_receive(7, 3000), STATUS_SUCCESS);
        ib_send_wr_t made = one->remote(type, 1, *two, 3000);
        if (type == WR_SEND) made = one->send(1, 3000);
        made.send_opt |= IB_SEND_OPT_IMMEDIATE;
        made.immediate_data = 0x04030201;
        execute(made);
        const IB_WC received = two->next();
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_NE(received.Flags & IB_WC_IMMEDIATE_PRESENT, 0u);
        EXPECT_EQ(received.Immediate, 0x04030201u);
    }
}

// The receiver is not ready at first.
TEST_P(RoceGuest, LateReceive_GetsTheMessage) {
    connect();
    one->fill();
    EXPECT_EQ(one->post(one->send(5, 3000)), STATUS_SUCCESS);
    LARGE_INTEGER moment;
    moment.QuadPart = -200'000; // 20 ms of machine time
    KeDelayExecutionThread(KernelMode, FALSE, &moment);
    EXPECT_EQ(two->post_receive(7, 3000), STATUS_SUCCESS);
    EXPECT_EQ(two->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(two->has_bytes_of(*one, 3000));
}

TEST_P(RoceGuest, WrongKey_IsARemoteAccessError) {
    connect();
    ib_send_wr_t write = one->remote(WR_RDMA_WRITE, 1, *two, 100);
    write.remote_ops.rkey ^= 0x55;
    EXPECT_EQ(one->post(write), STATUS_SUCCESS);
    EXPECT_EQ(one->next().Status, ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

TEST_P(RoceGuest, ManyWritesAtOnce_AllArrive) {
    connect();
    one->fill();
    for (ULONGLONG i = 0; i < 16; ++i)
        EXPECT_EQ(one->post(one->remote(WR_RDMA_WRITE, i, *two, 20'000)), STATUS_SUCCESS);
    for (ULONGLONG i = 0; i < 16; ++i) {
        const IB_WC done = one->next();
        EXPECT_EQ(done.WrId, i);
        EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
    }
    EXPECT_TRUE(two->has_bytes_of(*one, 20'000));
}

TEST_P(RoceGuest, Datagrams_ArriveBehindTheirIpHeader) {
    const auto [is_version_4, which] = GetParam();
    roce_end sender = ends->ours(is_version_4);
    roce_end receiver = ends->kernels(is_version_4);
    if (which == direction::kernel_to_ours) std::swap(sender, receiver);
    datagram_end from(sender.fdo);
    datagram_end to(receiver.fdo);
    from.start();
    to.start();
    for (const ULONG size : {1u, 1000u, 2048u}) {
        EXPECT_EQ(to.post_receive(7), STATUS_SUCCESS);
        EXPECT_EQ(
            from.post(from.send(5, size, from.vector(sender.way_to(receiver.gid)), to.qp->Num)),
            STATUS_SUCCESS);
        const IB_WC received = to.next();
        EXPECT_EQ(received.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(received.ByteCount, size + datagram_end::route_size);
        EXPECT_EQ(received.SourceQp, from.qp->Num);
        EXPECT_EQ(from.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_TRUE(to.has_bytes_of(from, size));
        EXPECT_EQ(to.route()[is_version_4 ? 20 : 0] >> 4, is_version_4 ? 4 : 6);
    }
}

class LossyRoceGuest : public RoceGuest {
protected:
    void transfer(const std::string& how) {
        connect();
        const disturbed_cable cable(how);
        for (int i = 0; i < 4; ++i) {
            send(64);
            send(32'768);
            write(32'768);
            read(32'768);
            add(3);
        }
    }
};

TEST_P(LossyRoceGuest, OnePercentLost_AllBytesArrive) { transfer("loss 1%"); }
TEST_P(LossyRoceGuest, FivePercentLost_AllBytesArrive) { transfer("loss 5%"); }
TEST_P(LossyRoceGuest, OvertakingPackets_AllBytesArrive) { transfer("delay 1ms reorder 2%"); }
TEST_P(LossyRoceGuest, DuplicatePackets_AllBytesArrive) { transfer("duplicate 5%"); }
TEST_P(LossyRoceGuest, DamagedPackets_AllBytesArrive) { transfer("corrupt 2%"); }

std::string name_of_ends(const ::testing::TestParamInfo<RoceGuest::ParamType>& info) {
    const auto [is_version_4, which] = info.param;
    return std::string(which == direction::ours_to_kernel ? "ToKernel" : "FromKernel") +
           (is_version_4 ? "4" : "6");
}

const auto both_directions =
    ::testing::Values(direction::ours_to_kernel, direction::kernel_to_ours);
INSTANTIATE_TEST_SUITE_P(Over, RoceGuest, ::testing::Combine(::testing::Bool(), both_directions),
                         name_of_ends);
INSTANTIATE_TEST_SUITE_P(Over, LossyRoceGuest,
                         ::testing::Combine(::testing::Values(true), both_directions),
                         name_of_ends);

} // namespace
