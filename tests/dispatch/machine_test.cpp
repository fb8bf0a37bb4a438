#include <support/both_machines.hpp>
#include <support/ke_shorthand.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class MachineScope : public BothMachines {};

TEST_P(MachineScope, NestedScopes_RestoreMachineAndThread) {
    asio_machine other({.processors = 3});
    PKTHREAD const mine = KeGetCurrentThread();
    {
        const machine::scope inside(other);
        EXPECT_EQ(&machine::current(), &other);
        EXPECT_EQ(KeQueryActiveProcessorCount(nullptr), 3u);
        EXPECT_EQ(KeQueryActiveProcessors(), KAFFINITY{7});
        EXPECT_NE(KeGetCurrentThread(), mine);
        {
            const machine::scope deeper(machine());
            EXPECT_EQ(&machine::current(), &machine());
        }
        EXPECT_EQ(&machine::current(), &other);
    }
    EXPECT_EQ(&machine::current(), &machine());
    EXPECT_EQ(KeGetCurrentThread(), mine);
}

TEST_P(MachineScope, ScopeOfOtherMachine_StartsAtPassiveLevel) {
    const at_dispatch_level raised;
    asio_machine other({.processors = 1});
    const machine::scope inside(other);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(MachineScope, ScopeEndsAtDispatch_QueuedDpcsRun) {
    counted_dpc dpc;
    {
        const machine::scope inside(machine());
        KeRaiseIrqlToDpcLevel();
        KeInsertQueueDpc(&dpc, nullptr, nullptr);
    }
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_EQ(dpc.irql, DISPATCH_LEVEL);
}

TEST_P(MachineScope, PostedHandler_RunsAtPassiveInsideMachine) {
    event done;
    KIRQL level = HIGH_LEVEL;
    bool inside = false;
    boost::asio::post(machine().context(), [&] {
        level = KeGetCurrentIrql();
        inside = &machine::current() == &machine();
        set(done);
    });
    wait(&done);
    EXPECT_EQ(level, PASSIVE_LEVEL);
    EXPECT_TRUE(inside);
}

TEST_P(MachineScope, TwoRandomDraws_Differ) { EXPECT_NE(machine().random(), machine().random()); }

TEST_P(MachineScope, ThousandsOfScopes_ReuseProcessorSlots) {
    for (int i = 0; i < 2 * MAXIMUM_PROCESSORS; ++i)
        const machine::scope visit(machine()); // slots are reused
    SUCCEED();
}

IRPVERBS_ON_BOTH_MACHINES(MachineScope);

// A thread that belongs to no machine runs on the default one.
TEST(DefaultMachine, ThreadWithoutMachine_RunsOnDefaultMachine) {
    std::thread([] {
        EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
        EXPECT_FALSE(machine::current().simulated());
        EXPECT_GE(KeQueryActiveProcessorCount(nullptr), 1u);
        counted_dpc dpc;
        KeInsertQueueDpc(&dpc, nullptr, nullptr);
        EXPECT_EQ(dpc.runs, 1);
        EXPECT_EQ(delay(millisecond), STATUS_SUCCESS);
    }).join();
}

TEST(DefaultMachine, TwoThreads_ShareOneMachine) {
    machine* first = nullptr;
    machine* second = nullptr;
    std::thread([&] { first = &machine::current(); }).join();
    std::thread([&] { second = &machine::current(); }).join();
    EXPECT_EQ(first, second);
}

TEST(DefaultMachine, ThreadEnded_ProcessorNumberIsReused) {
    ULONG first = 0, second = 0;
    std::thread([&] { first = KeGetCurrentProcessorNumber(); }).join();
    std::thread([&] { second = KeGetCurrentProcessorNumber(); }).join();
    EXPECT_EQ(first, second);
}

TEST(DefaultMachine, ThreadEndsHoldingMutex_MutexIsAbandoned) {
    KMUTEX mutex;
    KeInitializeMutex(&mutex, 0);
    std::thread([&] { wait(&mutex); }).join();
    EXPECT_EQ(wait(&mutex), STATUS_ABANDONED_WAIT_0);
    KeReleaseMutex(&mutex, FALSE);
}

TEST(DefaultMachine, ThreadsOfTwoMachines_ShareOneEvent) {
    asio_machine one({.processors = 1}), two({.processors = 1});
    event there, back;
    std::thread other([&] {
        const machine::scope inside(two);
        wait(&there);
        set(back);
    });
    {
        const machine::scope inside(one);
        set(there);
        wait(&back);
    }
    other.join();
}

TEST(AsioMachine, RequestedProcessorCount_IsUsed) {
    EXPECT_EQ(asio_machine({.processors = 5}).processor_count(), 5u);
    EXPECT_GE(asio_machine().processor_count(), 1u);
}

// Faults, logs and replays exist in the simulator only.
TEST(AsioMachine, ShouldInjectAndReplayLine_AreInactive) {
    asio_machine machine({.processors = 1});
    EXPECT_FALSE(machine.should_inject("site"));
    EXPECT_EQ(machine.replay_line(), nullptr);
    EXPECT_LE(machine.coarse_time(), machine.interrupt_time());
}

// The kernel's tick may be late on a machine that shares its processors: at least one of the tries
// has a tick in time.
TEST(AsioMachine, ClockUpperBound_ReachesInterruptTime) {
    asio_machine machine({.processors = 1});
    int tries = 10'000'000;
    for (std::uint64_t before = 1, late = 0; late < before && tries > 0; --tries) {
        before = machine.interrupt_time();
        late = machine.clock_upper_bound();
    }
    EXPECT_GT(tries, 0);
}

TEST(AsioMachine, UnusedMachine_ConstructsAndDestructs) {
    for (int i = 0; i < 100; ++i)
        const asio_machine unused({.processors = 2});
}

TEST(AsioMachine, HandlerNeverRun_IsDestroyed) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = held;
    {
        event blocked, go; // both outlive the machine, whose thread may still be inside the wait
        asio_machine machine({.processors = 1});
        boost::asio::post(machine.context(), [&] {
            set(blocked);
            wait(&go);
        });
        {
            const machine::scope inside(machine);
            wait(&blocked);
        }
        boost::asio::post(machine.context(), [held] {});
        held.reset();
        std::thread([&] { set(go); }).join();
    }
    EXPECT_TRUE(watched.expired());
}

struct chain {
    WORK_QUEUE_ITEM item;
    signaling_dpc dpc;
    int links = 0;

    explicit chain(CCHAR processor) {
        KeSetTargetProcessorDpc(&dpc, processor);
        ExInitializeWorkItem(&item, run, this);
    }
    void run_dpc() {
        KeClearEvent(&dpc.done);
        KeInsertQueueDpc(&dpc, nullptr, nullptr);
        wait(&dpc.done);
    }
    static void run(PVOID context) {
        auto& self = *static_cast<chain*>(context);
        self.run_dpc();
        if (++self.links < 3) ExQueueWorkItem(&self.item, DelayedWorkQueue);
    }
};

// Handlers queued before the destructor run, and so do handlers that they queue on idle processors.
TEST(AsioMachine, Destructor_WaitsForQueuedWork) {
    for (int round = 0; round < 200; ++round) {
        chain one(0);
        {
            asio_machine machine({.processors = 2});
            const machine::scope inside(machine);
            KeSetTargetProcessorDpc(&one.dpc, static_cast<CCHAR>(round % 2));
            one.run_dpc(); // that processor is idle
            ExQueueWorkItem(&one.item, DelayedWorkQueue);
        }
        EXPECT_EQ(one.links, 3);
    }
}

// The destructor waits for system threads, which may use the whole machine to their end.
TEST(AsioMachine, Destructor_WaitsForSystemThreads) {
    for (int round = 0; round < 200; ++round) {
        chain one(0);
        {
            asio_machine machine({.processors = 1});
            const machine::scope inside(machine);
            one.run_dpc();
            HANDLE handle = nullptr;
            ASSERT_EQ(PsCreateSystemThread(
                          &handle, 0, nullptr, nullptr, nullptr,
                          [](PVOID context) {
                              delay(10 * microsecond);
                              chain::run(context);
                          },
                          &one),
                      STATUS_SUCCESS);
            ZwClose(handle);
        }
        EXPECT_EQ(one.links, 3);
    }
}

} // namespace
