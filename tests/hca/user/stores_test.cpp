// Small messages that the client itself copies to its receive, when it takes the completion.
#include "../connected_end.hpp"
#include "../unmapped_region.hpp"
#include "client.hpp"

#include <ci/support/address_space.hpp>

#include <fstream>
#include <optional>
#include <sys/mman.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// Connects a sender with a queue pair that only receives, at `way`.
void connect_to_receiver(connected_end& from, IB_QP* qp, const ib_av_attr_t& way) {
    EXPECT_EQ(modify_qp(qp, ci::to_init(IB_QPT_RELIABLE_CONN, {.access = 0})), STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av = from.way();
    path.av.port_num = 1;
    path.dest_qp = from.qp->Num;
    path.rq_psn = connected_end::first_psn;
    EXPECT_EQ(modify_qp(qp, ci::to_rtr(IB_QPT_RELIABLE_CONN, path)), STATUS_SUCCESS);
    from.connect(way, qp->Num);
}

class UserStores : public ::testing::Test {
protected:
    UserStores() {
        one.connect(other);
        other.connect(one);
        send(1); // the daemon writes the first bytes for each page
        EXPECT_EQ(other.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(other.number(), 1u);
    }

    /// Sends a number to the peer, where the receive with that key has its address.
    void send(ULONGLONG number, ULONGLONG address, ULONG key) {
        ib_local_ds_t into{address, 8, key};
        ib_recv_wr_t receive{nullptr, number, &into, 1};
        EXPECT_EQ(CiPostRecv(other.qp, &receive, nullptr), STATUS_SUCCESS);
        one.number() = number;
        EXPECT_EQ(one.post(one.send(number, 8)), STATUS_SUCCESS);
        EXPECT_EQ(one.next().Status, ULONG{IB_WC_SUCCESS}); // the peer has the message
    }
    void send(ULONGLONG number) { send(number, other.address(), other.key()); }

    test_daemon serving;
    const client here{serving.uri()};
    connected_end one{first_hca()};
    connected_end other{first_hca()};
};

TEST_F(UserStores, SmallMessage_IsThereWithItsCompletion) {
    for (ULONGLONG i = 2; i < 500; ++i) { // more than the ring has slots
        send(i);
        EXPECT_EQ(other.number(), i - 1);
        EXPECT_EQ(other.next().WrId, i);
        EXPECT_EQ(other.number(), i);
    }
}

TEST_F(UserStores, MoreThanTheRingHolds_AreAllThereInTheirOrder) {
    IB_CQ* const unpolled = create_cq(other.ca(), 512);
    ib_qp_create_t wanted = small_qp(unpolled);
    wanted.rq_depth = 256;
    IB_QP* const qp = create_qp(other.pd(), wanted);
    connected_end from(first_hca());
    connect_to_receiver(from, qp, other.way());
    constexpr ULONGLONG count = 200;
    for (ULONGLONG i = 0; i < count; ++i) {
        ib_local_ds_t into{other.address() + 8 * i, 8, other.key()};
        ib_recv_wr_t receive{nullptr, i, &into, 1};
        EXPECT_EQ(CiPostRecv(qp, &receive, nullptr), STATUS_SUCCESS);
        from.number() = i + 1;
        EXPECT_EQ(from.post(from.send(i, 8)), STATUS_SUCCESS);
        EXPECT_EQ(from.next().Status, ULONG{IB_WC_SUCCESS});
    }
    const auto* const numbers = reinterpret_cast<const ULONGLONG*>(other.bytes().data());
    for (ULONGLONG i = 0; i < count; ++i) {
        EXPECT_EQ(next_completion(unpolled).WrId, i);
        EXPECT_EQ(numbers[i], i + 1);
    }
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(unpolled), STATUS_SUCCESS);
}

// The memory is the client's again, although it never takes the completion.
TEST_F(UserStores, DestroyedQueuePair_ChangesNoMemoryLater) {
    send(2);
    EXPECT_EQ(other.number(), 1u);
    other.destroy();
    EXPECT_EQ(other.number(), 2u);
    other.number() = 77;
    other.drain();
    EXPECT_EQ(other.number(), 77u);
}

TEST_F(UserStores, DeregisteredRegion_ChangesNoMemoryLater) {
    send(2);
    other.deregister();
    EXPECT_EQ(other.number(), 2u);
    other.number() = 77;
    other.drain();
    EXPECT_EQ(other.number(), 77u);
}

TEST_F(UserStores, DestroyedAfterTheEndOfTheDaemon_ChangesNoMemoryLater) {
    send(2);
    serving.stop();
    other.destroy();
    EXPECT_EQ(other.number(), 2u);
}

TEST_F(UserStores, ChangedRegion_IsKnownWithItsNewMemory) {
    std::vector<UCHAR> bytes(64);
    std::vector<UCHAR> later(64);
    IB_MR* const mr = register_mr(other.pd(), bytes.data(), bytes.size(), IB_AC_LOCAL_WRITE);
    ib_mr_mod_t change{};
    change.opts = IB_MR_MOD_ADDR;
    change.create = {later.data(), later.size(), IB_AC_LOCAL_WRITE, 0};
    verb_call modify([&](IRP* irp) { return CiModifyMr(mr, &change, nullptr, irp); });
    EXPECT_EQ(modify.status(), STATUS_SUCCESS);
    for (ULONGLONG i = 2; i < 5; ++i) {
        send(i, reinterpret_cast<std::uintptr_t>(later.data()), mr->LKey);
        EXPECT_EQ(other.next().WrId, i);
        EXPECT_EQ(later[0], i);
    }
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

TEST_F(UserStores, SharedRegion_HasTheMemoryOfTheOther) {
    std::vector<UCHAR> bytes(64);
    IB_MR* const mr = register_mr(other.pd(), bytes.data(), bytes.size(), IB_AC_LOCAL_WRITE);
    auto* const elsewhere = reinterpret_cast<void*>(std::uintptr_t{1} << 32);
    IB_MR* const sharing = register_smr(other.pd(), mr, elsewhere, IB_AC_LOCAL_WRITE);
    for (ULONGLONG i = 2; i < 5; ++i) {
        send(i, reinterpret_cast<std::uintptr_t>(elsewhere), sharing->LKey);
        EXPECT_EQ(other.next().WrId, i);
        EXPECT_EQ(bytes[0], i);
    }
    EXPECT_EQ(deregister_mr(sharing), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(mr), STATUS_SUCCESS);
}

// The key of the region is new, so the daemon writes, and fails, before it passes bytes.
TEST_F(UserStores, PageThatWasNeverThere_FailsTheReceive) {
    const unmapped_region gone(other.pd());
    ib_local_ds_t into{gone.address(), 8, gone.key};
    ib_recv_wr_t receive{nullptr, 2, &into, 1};
    EXPECT_EQ(CiPostRecv(other.qp, &receive, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(one.post(one.send(2, 8)), STATUS_SUCCESS);
    EXPECT_EQ(one.next().Status, ULONG{IB_WC_REMOTE_OPERATION_ERROR});
    EXPECT_EQ(other.next().Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

/// Passes bytes to a client of this process, as a daemon that does not check keys would.
void store_as_any_daemon(ULONG key, ULONGLONG& at, ULONGLONG value) {
    for (std::uint64_t space = 0; space < 8; ++space) {
        const std::uint64_t place =
            std::uint64_t{1} << 63 | space << 48 |
            static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&at));
        ci::address_space::deliver(key, reinterpret_cast<void*>(place), &value, sizeof(value));
    }
}

TEST_F(UserStores, StoreToNoRegion_IsRefusedAndEndsTheConnection) {
    alignas(8) ULONGLONG own = 0;
    store_as_any_daemon(other.key(), own, 1); // written, since the page was not shown
    EXPECT_EQ(own, 1u);
    store_as_any_daemon(other.key(), own, 2);
    IB_CA_ATTR attr{};
    const auto query = [&] {
        return verb_call([&](IRP* irp) { return CiQueryCa(other.ca(), sizeof(attr), &attr, irp); })
            .status();
    };
    query();
    ASSERT_EQ(own, 1u);
    EXPECT_TRUE(await([&] { return query() == STATUS_FILE_FORCED_CLOSED; }));
}

/// The calls of this process, the daemon's threads included, that write; none: the kernel does not
/// count them.
std::optional<ULONGLONG> writes_of_process() {
    std::ifstream file("/proc/self/io");
    std::string name;
    for (ULONGLONG value = 0; file >> name >> value;)
        if (name == "syscw:") return value;
    return std::nullopt;
}

/// A daemon that never sleeps, and a connection within one open HCA.
class UserStoresOfAnAwakeDaemon : public ::testing::Test {
protected:
    UserStoresOfAnAwakeDaemon() { self.connect(self); }

    static UAL_OPTIONS never_sleeping() {
        UAL_OPTIONS limits;
        UAL_OPTIONS_INIT(&limits);
        limits.IdleTurns = ~ULONG{0};
        return limits;
    }
    /// `take(entry)` removes a completion; to wait for its event would be a call.
    template <class Take>
    static void poll(const Take& take, int count) {
        for (IB_WC entry{}; count != 0 && !HasFailure();)
            if (take(entry)) {
                EXPECT_EQ(entry.Status, ULONG{IB_WC_SUCCESS});
                --count;
            }
    }
    /// `transfer(number)` makes the daemon write nothing after the first times.
    template <class Transfer>
    static void expect_no_writes(const Transfer& transfer) {
        for (ULONGLONG number = 0; number < 10; ++number)
            transfer(number);
        const auto before = writes_of_process();
        if (!before) GTEST_SKIP() << "the kernel does not count calls";
        for (ULONGLONG number = 10; number < 210; ++number)
            transfer(number);
        EXPECT_EQ(*writes_of_process(), *before);
    }
    /// Sends two numbers, inline, from two segments.
    void send_two(ULONGLONG number) {
        std::array<ULONGLONG, 2> sent{number, number + 1};
        std::array<ib_local_ds_t, 2> from{};
        for (std::size_t i = 0; i < from.size(); ++i)
            from[i] = {reinterpret_cast<std::uintptr_t>(&sent[i]), 8, 0};
        ib_send_wr_t send = self.send(number, 16);
        send.send_opt |= IB_SEND_OPT_INLINE;
        send.ds_array = from.data();
        send.num_ds = 2;
        EXPECT_EQ(self.post(send), STATUS_SUCCESS);
    }
    /// Receives go to two places, the second before the first.
    std::array<ib_local_ds_t, 2> two_places() const {
        return {{{self.address() + 64, 8, self.key()}, {self.address(), 8, self.key()}}};
    }
    void expect_two(ULONGLONG number) {
        EXPECT_EQ((&self.number())[8], number);
        EXPECT_EQ(self.number(), number + 1);
    }

    UAL_OPTIONS limits = never_sleeping();
    test_daemon serving{&limits};
    const client here{serving.uri()};
    connected_end self{first_hca()};
};

// Inline data lie in the ring of posts, and pass to the receive through the ring of stores.
TEST_F(UserStoresOfAnAwakeDaemon, SmallInlineMessages_NeedNoCallThatWrites) {
    expect_no_writes([&](ULONGLONG number) {
        ib_send_wr_t send = self.send(number, 8);
        send.send_opt |= IB_SEND_OPT_INLINE;
        EXPECT_EQ(self.post_receive(number, 8), STATUS_SUCCESS);
        EXPECT_EQ(self.post(send), STATUS_SUCCESS);
        poll([&](IB_WC& entry) { return self.take(entry); }, 2);
    });
}

TEST_F(UserStoresOfAnAwakeDaemon, ReceivesOfSeveralSegments_NeedNoCallThatWrites) {
    expect_no_writes([&](ULONGLONG number) {
        auto places = two_places();
        ib_recv_wr_t receive{nullptr, number, places.data(), 2};
        EXPECT_EQ(CiPostRecv(self.qp, &receive, nullptr), STATUS_SUCCESS);
        send_two(number);
        poll([&](IB_WC& entry) { return self.take(entry); }, 2);
        expect_two(number);
    });
}

TEST_F(UserStoresOfAnAwakeDaemon, SharedReceives_NeedNoCallThatWrites) {
    ib_srq_create_t size{};
    size.max_wr = 4;
    size.max_sge = 2;
    IB_SRQ* const receives = create_srq(self.pd(), size);
    IB_CQ* const cq = create_cq(self.ca(), 64);
    ib_qp_create_t wanted = small_qp(cq);
    wanted.h_srq = receives;
    wanted.rq_depth = wanted.rq_sge = 0;
    IB_QP* const qp = create_qp(self.pd(), wanted);
    connected_end from(first_hca());
    connect_to_receiver(from, qp, self.way());
    expect_no_writes([&](ULONGLONG number) {
        auto places = two_places();
        ib_recv_wr_t receive{nullptr, number, places.data(), 2};
        EXPECT_EQ(CiPostSrqRecv(receives, &receive, nullptr), STATUS_SUCCESS);
        std::array<ULONGLONG, 2> sent{number, number + 1};
        ib_local_ds_t segment{reinterpret_cast<std::uintptr_t>(sent.data()), 16, 0};
        ib_send_wr_t send = from.send(number, 16);
        send.send_opt |= IB_SEND_OPT_INLINE;
        send.ds_array = &segment;
        EXPECT_EQ(from.post(send), STATUS_SUCCESS);
        poll([&](IB_WC& entry) { return take_completion(cq, entry); }, 1);
        expect_two(number);
        poll([&](IB_WC& entry) { return from.take(entry); }, 1);
    });
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    verb_call destroy([&](IRP* irp) { return CiDestroySrq(receives, nullptr, irp); });
    EXPECT_EQ(destroy.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

} // namespace
