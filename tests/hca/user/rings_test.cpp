// Work requests and completions in the rings of a client and its daemon.
#include "../connected_end.hpp"
#include "client.hpp"

#include <ci/driver.h>
#include <dispatch/support/spin.hpp>

#include <csignal>
#include <optional>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A daemon with those limits, and a connection between two open HCAs of a client.
struct connected_pair {
    explicit connected_pair(const UAL_OPTIONS* limits = nullptr) : serving(limits) {
        here.emplace(serving.uri());
        one.emplace(first_hca());
        other.emplace(first_hca());
        one->connect(*other);
        other->connect(*one);
    }

    /// Sends a message; both completions are removed by polls alone.
    void send_and_poll(ULONGLONG id) {
        EXPECT_EQ(other->post_receive(id, 8), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(id, 8)), STATUS_SUCCESS);
        for (connected_end* each : {&*one, &*other}) {
            IB_WC entry{};
            while (!each->take(entry))
                dispatch::detail::cpu_relax();
            EXPECT_EQ(entry.Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(entry.WrId, id);
        }
    }

    /// The same, with a queue pair that is connected to itself.
    void send_to_itself(ULONGLONG id) {
        EXPECT_EQ(one->post_receive(id, 8), STATUS_SUCCESS);
        EXPECT_EQ(one->post(one->send(id, 8)), STATUS_SUCCESS);
        for (int left = 2; left != 0;) {
            IB_WC entry{};
            if (one->take(entry)) --left;
            EXPECT_EQ(entry.Status, ULONG{IB_WC_SUCCESS});
        }
    }

    test_daemon serving;
    std::optional<client> here;
    std::optional<connected_end> one;
    std::optional<connected_end> other;
};

TEST(Rings, PostsAndPolls_AreNoRequestsOfTheDaemon) {
    connected_pair pair;
    const ULONGLONG before = pair.serving.counters().Served;
    for (ULONGLONG i = 0; i < 50; ++i)
        pair.send_and_poll(i);
    EXPECT_EQ(pair.serving.counters().Served, before);
}

TEST(Rings, BeyondTheirMemory_CallsTakeTheirPlace) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.MaxRingMemory = 1;
    connected_pair pair(&limits);
    EXPECT_EQ(pair.serving.counters().RingMemory, 0u);
    const ULONGLONG before = pair.serving.counters().Served;
    for (ULONGLONG i = 0; i < 20; ++i)
        pair.send_and_poll(i);
    EXPECT_GE(pair.serving.counters().Served, before + 80);
    EXPECT_EQ(pair.other->post_receive(1, 8), STATUS_SUCCESS);
    EXPECT_EQ(pair.one->post(pair.one->send(1, 8)), STATUS_SUCCESS);
    EXPECT_EQ(pair.other->next().WrId, 1u); // with an event
}

TEST(Rings, OfAClientThatEnds_GiveTheirMemoryBack) {
    connected_pair pair;
    EXPECT_GT(pair.serving.counters().RingMemory, 0u);
    pair.one.reset();
    pair.other.reset();
    EXPECT_TRUE(pair.serving.becomes_idle());
    EXPECT_EQ(pair.serving.counters().RingMemory, 0u);
}

TEST(Rings, CompletionsOfAResizedQueue_AreKeptInOrder) {
    connected_pair pair;
    constexpr ULONG count = 12;
    IB_CQ* const queue = reinterpret_cast<HCA_QP*>(pair.other->qp)->Create.h_rq_cq;
    for (ULONG i = 0; i < count; ++i) {
        EXPECT_EQ(pair.other->post_receive(i, 8), STATUS_SUCCESS);
        EXPECT_EQ(pair.one->post(pair.one->send(i, 8)), STATUS_SUCCESS);
        EXPECT_EQ(pair.one->next().WrId, i);
        const ULONG entries = i % 3 == 0 ? 128 : 32;
        const auto resize = [&](IRP* irp) { return CiResizeCq(queue, entries, nullptr, irp); };
        if (i % 2 == 0) {
            EXPECT_EQ(verb_call(resize).status(), STATUS_SUCCESS);
            EXPECT_EQ(queue->NumCqes, entries);
        }
        EXPECT_EQ(pair.other->queued(), i + 1);
    }
    verb_call smaller([&](IRP* irp) { return CiResizeCq(queue, count - 1, nullptr, irp); });
    EXPECT_EQ(smaller.status(), STATUS_INVALID_PARAMETER);
    for (ULONG i = 0; i < count; ++i)
        EXPECT_EQ(pair.other->next().WrId, i);
    EXPECT_TRUE(pair.other->has_no_completion());
    pair.send_and_poll(99);
}

TEST(Rings, FullCompletionQueue_IsInError) {
    connected_pair pair;
    IB_CQ* const queue = reinterpret_cast<HCA_QP*>(pair.one->qp)->Create.h_sq_cq;
    verb_call resize([&](IRP* irp) { return CiResizeCq(queue, 4, nullptr, irp); });
    EXPECT_EQ(resize.status(), STATUS_SUCCESS);
    verb_call error([&](IRP* irp) { return CiGetCqAsyncEvent(queue, irp); });
    for (ULONG i = 0; i < 5; ++i)
        EXPECT_EQ(pair.one->post(pair.one->remote(WR_RDMA_WRITE, i, *pair.other, 8)),
                  STATUS_SUCCESS);
    EXPECT_EQ(error.status(), STATUS_SUCCESS);
    EXPECT_EQ(error.information(), ULONG_PTR{IB_AE_CQ_ERROR});
    for (ULONG i = 0; i < 4; ++i)
        EXPECT_EQ(pair.one->next().WrId, i);
    EXPECT_TRUE(pair.one->has_no_completion());
}

// ib_send_lat -e waits for the events of two queues in turn, and polls the one that it expects.
TEST(Rings, EntryThatMadeAnEvent_MakesNoOtherOne) {
    connected_pair pair;
    IB_CQ* const queue = reinterpret_cast<HCA_QP*>(pair.one->qp)->Create.h_sq_cq;
    const auto write = [&](ULONGLONG id) {
        EXPECT_EQ(pair.one->post(pair.one->remote(WR_RDMA_WRITE, id, *pair.other, 8)),
                  STATUS_SUCCESS);
    };
    verb_call first([&](IRP* irp) { return CiGetCqCompEvent(queue, irp); });
    EXPECT_EQ(CiArmCqNow(queue, IB_CQ_ARM_NEXT), STATUS_SUCCESS);
    write(1);
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    verb_call second([&](IRP* irp) { return CiGetCqCompEvent(queue, irp); });
    EXPECT_EQ(CiArmCqNow(queue, IB_CQ_ARM_NEXT), STATUS_SUCCESS);
    EXPECT_EQ(pair.one->queued(), 1u);
    EXPECT_FALSE(second.done());
    write(2);
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    verb_call third([&](IRP* irp) { return CiGetCqCompEvent(queue, irp); });
    write(3);
    while (pair.one->queued() != 3) {
    }
    EXPECT_EQ(CiArmCqNow(queue, IB_CQ_ARM_NEXT), STATUS_SUCCESS); // the third is there already
    EXPECT_EQ(third.status(), STATUS_SUCCESS);
    pair.one->drain();
}

TEST(Rings, ResetQueuePair_IsPostedToAgain) {
    connected_pair pair;
    ib_qp_mod_t reset{};
    reset.opts = IB_MOD_QP_STATE;
    reset.req_state = IB_QPS_RESET;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pair.other->post_receive(1, 8), STATUS_SUCCESS);
        for (connected_end* each : {&*pair.one, &*pair.other})
            EXPECT_EQ(modify_qp(each->qp, reset), STATUS_SUCCESS);
        EXPECT_EQ(pair.one->post(pair.one->send(1, 8)), STATUS_INVALID_DEVICE_STATE);
        pair.one->connect(*pair.other);
        pair.other->connect(*pair.one);
        for (ULONGLONG id = 0; id < 40; ++id)
            pair.send_and_poll(id);
    }
}

// ---- no system call

/// Counts a thread's first system call between begin and end (Linux 5.11).
class first_system_call {
public:
    static bool begin() {
        struct sigaction action {};
        action.sa_sigaction = note;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSYS, &action, nullptr);
        noted = false;
        if (prctl(set_dispatch, 1, 0, 0, &selector) != 0) return false;
        selector = block;
        return true;
    }
    /// True: there was none.
    static bool end() {
        selector = allow;
        prctl(set_dispatch, 0, 0, 0, nullptr);
        return !noted;
    }

private:
    static constexpr int set_dispatch = 59; // PR_SET_SYSCALL_USER_DISPATCH
    static constexpr char allow = 0;
    static constexpr char block = 1;

    // The system call is made again, and those behind it are not seen.
    static void note(int, siginfo_t* info, void* context) {
        selector = allow;
        noted = true;
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        registers[REG_RAX] = info->si_syscall;
        registers[REG_RIP] -= 2; // of the instruction
    }

    static inline volatile char selector = allow;
    static inline volatile bool noted = false;
};

// The queue pair is its own peer, so that one thread of the daemon serves both queues. That thread
// never sleeps.
TEST(Rings, WorkRequests_NeedNoSystemCallWhileTheDaemonIsAwake) {
    UAL_OPTIONS limits;
    UAL_OPTIONS_INIT(&limits);
    limits.IdleTurns = ~ULONG{0};
    connected_pair pair(&limits);
    pair.other.reset();
    pair.one.emplace(first_hca());
    pair.one->connect(*pair.one);
    for (ULONGLONG i = 0; i < 100; ++i)
        pair.send_to_itself(i); // the path without locks is prepared
    if (!first_system_call::begin()) GTEST_SKIP() << "the kernel has no system call dispatch";
    for (ULONGLONG i = 0; i < 200; ++i)
        pair.send_to_itself(i);
    EXPECT_TRUE(first_system_call::end());
}

} // namespace
