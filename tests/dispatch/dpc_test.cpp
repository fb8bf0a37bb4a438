#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

class Dpcs : public BothMachines {};

PVOID number(int value) { return reinterpret_cast<PVOID>(static_cast<ULONG_PTR>(value)); }

TEST_P(Dpcs, InsertedBelowDispatch_RunsBeforeReturn) {
    counted_dpc dpc;
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, number(1), number(2)));
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_EQ(dpc.irql, DISPATCH_LEVEL);
    EXPECT_EQ(dpc.processor, KeGetCurrentProcessorNumber());
    EXPECT_EQ(dpc.argument1, number(1));
    EXPECT_EQ(dpc.argument2, number(2));
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(Dpcs, InsertedAtDispatch_RunsWhenIrqlLowers) {
    counted_dpc dpc;
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, nullptr, nullptr));
    EXPECT_EQ(dpc.runs, 0);
    KeLowerIrql(old);
    EXPECT_EQ(dpc.runs, 1);
}

TEST_P(Dpcs, LoweredWithinHighLevels_RunsBelowDispatchOnly) {
    counted_dpc dpc;
    KIRQL old;
    KeRaiseIrql(HIGH_LEVEL, &old);
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    KeLowerIrql(DISPATCH_LEVEL);
    EXPECT_EQ(dpc.runs, 0);
    KeLowerIrql(APC_LEVEL);
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    KeLowerIrql(old);
}

TEST_P(Dpcs, SecondInsert_ReturnsFalseAndKeepsFirstArguments) {
    counted_dpc dpc;
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, number(1), nullptr));
    EXPECT_FALSE(KeInsertQueueDpc(&dpc, number(2), nullptr));
    KeLowerIrql(old);
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_EQ(dpc.argument1, number(1));
}

TEST_P(Dpcs, QueuedDpc_IsRemovedOnce) {
    counted_dpc dpc;
    EXPECT_FALSE(KeRemoveQueueDpc(&dpc));
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    EXPECT_TRUE(KeRemoveQueueDpc(&dpc));
    EXPECT_FALSE(KeRemoveQueueDpc(&dpc));
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, number(3), nullptr)); // may be queued again
    KeRemoveQueueDpc(&dpc);
    KeLowerIrql(old);
    EXPECT_EQ(dpc.runs, 0);
}

TEST_P(Dpcs, HighImportance_RunsFirst) {
    std::vector<int> order;
    struct ordered : KDPC {
        int number;
        std::vector<int>& order;
        ordered(int its_number, std::vector<int>& its_order)
            : number(its_number), order(its_order) {
            KeInitializeDpc(
                this,
                [](KDPC*, PVOID context, PVOID, PVOID) {
                    auto& self = *static_cast<ordered*>(context);
                    self.order.push_back(self.number);
                },
                this);
        }
    };
    ordered one(1, order), two(2, order), three(3, order), four(4, order);
    KeSetImportanceDpc(&three, HighImportance);
    KeSetImportanceDpc(&four, MediumHighImportance);
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    for (ordered* each : {&one, &two, &three, &four})
        KeInsertQueueDpc(each, nullptr, nullptr);
    KeLowerIrql(old);
    EXPECT_EQ(order, (std::vector<int>{3, 1, 2, 4}));
}

TEST_P(Dpcs, LowImportance_RunsOnActiveProcessor) {
    counted_dpc dpc;
    KeSetImportanceDpc(&dpc, LowImportance);
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    KeFlushQueuedDpcs();
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_LT(dpc.processor, KeQueryActiveProcessorCount(nullptr));
    EXPECT_EQ(dpc.irql, DISPATCH_LEVEL);
}

TEST_P(Dpcs, TargetProcessor_RunsThere) {
    counted_dpc dpcs[processors];
    for (ULONG i = 0; i < processors; ++i) {
        KeSetTargetProcessorDpc(&dpcs[i], static_cast<CCHAR>(i));
        EXPECT_TRUE(KeInsertQueueDpc(&dpcs[i], nullptr, nullptr));
    }
    KeFlushQueuedDpcs();
    for (ULONG i = 0; i < processors; ++i) {
        EXPECT_EQ(dpcs[i].runs, 1);
        EXPECT_EQ(dpcs[i].processor, i);
        EXPECT_EQ(dpcs[i].irql, DISPATCH_LEVEL);
    }
}

TEST_P(Dpcs, InvalidTargetProcessor_BugChecks) {
    counted_dpc dpc;
    EXPECT_EQ(bug_check_of([&] { KeSetTargetProcessorDpc(&dpc, processors); }),
              TIMER_OR_DPC_INVALID);
    EXPECT_EQ(bug_check_of([&] { KeSetTargetProcessorDpc(&dpc, -1); }), TIMER_OR_DPC_INVALID);
}

TEST_P(Dpcs, TargetByGroupAndNumber_IsValidated) {
    counted_dpc dpc;
    PROCESSOR_NUMBER last{0, processors - 1, 0};
    EXPECT_EQ(KeSetTargetProcessorDpcEx(&dpc, &last), STATUS_SUCCESS);
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, nullptr, nullptr));
    KeFlushQueuedDpcs();
    EXPECT_EQ(dpc.processor, processors - 1u);
    PROCESSOR_NUMBER wrong[] = {{0, processors, 0}, {1, 0, 0}, {0, 0, 1}};
    for (PROCESSOR_NUMBER& each : wrong)
        EXPECT_EQ(KeSetTargetProcessorDpcEx(&dpc, &each), STATUS_INVALID_PARAMETER);
}

TEST_P(Dpcs, ThreadedDpc_RunsAtPassiveOnActiveProcessor) {
    counted_dpc dpc;
    KeInitializeThreadedDpc(&dpc, counted_dpc::note, &dpc);
    EXPECT_TRUE(KeInsertQueueDpc(&dpc, number(7), nullptr));
    KeFlushQueuedDpcs();
    EXPECT_EQ(dpc.runs, 1);
    EXPECT_EQ(dpc.irql, PASSIVE_LEVEL);
    EXPECT_LT(dpc.processor, KeQueryActiveProcessorCount(nullptr));
    EXPECT_EQ(dpc.argument1, number(7));
}

// A threaded DPC runs below DISPATCH_LEVEL, so a DPC that it inserts also runs before
// KeInsertQueueDpc returns.
TEST_P(Dpcs, InsertedByThreadedDpc_RunsBeforeReturn) {
    static int inner_runs_seen;
    inner_runs_seen = -1;
    static counted_dpc* inner;
    counted_dpc second, first;
    inner = &second;
    KeInitializeThreadedDpc(&first, counted_dpc::note, &first);
    first.then = [](counted_dpc&) {
        KeInsertQueueDpc(inner, nullptr, nullptr);
        inner_runs_seen = inner->runs;
    };
    KeInsertQueueDpc(&first, nullptr, nullptr);
    KeFlushQueuedDpcs();
    EXPECT_EQ(inner_runs_seen, 1);
    EXPECT_EQ(second.irql, DISPATCH_LEVEL);
    EXPECT_EQ(second.processor, first.processor);
}

TEST_P(Dpcs, DpcReinsertsItself_RunsAgain) {
    counted_dpc dpc;
    dpc.then = [](counted_dpc& self) {
        if (self.runs < 5) {
            EXPECT_TRUE(KeInsertQueueDpc(&self, nullptr, nullptr));
        }
    };
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    EXPECT_EQ(dpc.runs, 5);
}

TEST_P(Dpcs, DpcFreedByItsRoutine_IsNotAccessed) {
    static int freed;
    freed = 0;
    auto* dpc = new KDPC;
    KeInitializeDpc(
        dpc,
        [](KDPC* self, PVOID, PVOID, PVOID) {
            delete self;
            ++freed;
        },
        nullptr);
    KeInsertQueueDpc(dpc, nullptr, nullptr);
    EXPECT_EQ(freed, 1);
}

TEST_P(Dpcs, ReturnAtRaisedIrql_BugChecks) {
    counted_dpc dpc;
    dpc.then = [](counted_dpc&) {
        KIRQL old;
        KeRaiseIrql(CLOCK_LEVEL, &old);
    };
    const auto report = report_of([&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, IRQL_UNEXPECTED_VALUE);
    EXPECT_EQ(report->id, CLOCK_LEVEL);
}

// An exception ends the DPC; the thread's IRQL and DPC queue are as before.
TEST_P(Dpcs, ExceptionInDpc_NextDpcRuns) {
    counted_dpc dpc, next;
    dpc.then = [](counted_dpc&) { KeBugCheck(MANUALLY_INITIATED_CRASH); };
    const KIRQL old = KeRaiseIrqlToDpcLevel();
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    KeInsertQueueDpc(&next, nullptr, nullptr);
    EXPECT_EQ(bug_check_of([&] { KeLowerIrql(old); }), MANUALLY_INITIATED_CRASH);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeLowerIrql(old);
    EXPECT_EQ(next.runs, 1);
    KeFlushQueuedDpcs();
}

IRPVERBS_ON_BOTH_MACHINES(Dpcs);

// A removal that returns TRUE is true: the DPC runs once per insertion, less the removals.
TEST(DpcsExplored, ConcurrentInsertAndRemove_RunsOncePerInsertLessRemovals) {
    explore_options options = thorough();
    options.required_probes = {"dpc.queued_while_it_runs"};
    expect_explored(options, [](sim_machine& machine) {
        counted_dpc dpc;
        KeSetTargetProcessorDpc(&dpc, 1);
        int inserted = 0, removed = 0;
        machine.spawn("insert", [&] {
            for (int i = 0; i < 2; ++i)
                inserted += KeInsertQueueDpc(&dpc, nullptr, nullptr);
        });
        machine.spawn("insert too", [&] { inserted += KeInsertQueueDpc(&dpc, nullptr, nullptr); });
        machine.spawn("remove", [&] { removed += KeRemoveQueueDpc(&dpc); });
        machine.run();
        EXPECT_EQ(dpc.runs, inserted - removed);
        EXPECT_GE(inserted, 1);
    });
}

// Between the insertion and the DPC, its interrupt is pending: a second insertion there is refused,
// and its arguments are lost.
TEST(DpcsExplored, InsertedByTwo_SomeScheduleRefusesTheSecond) {
    static int refused;
    refused = 0;
    expect_explored(thorough(), [](sim_machine& machine) {
        counted_dpc dpc;
        for (const char* name : {"one", "other"})
            machine.spawn(name, [&] { refused += !KeInsertQueueDpc(&dpc, nullptr, nullptr); });
        machine.run();
    });
    EXPECT_GT(refused, 0);
}

TEST(DpcsExplored, Flush_WaitsForDpcsQueuedBefore) {
    expect_explored(thorough(), [](sim_machine& machine) {
        counted_dpc on_zero, on_one, threaded;
        KeSetTargetProcessorDpc(&on_zero, 0);
        KeSetTargetProcessorDpc(&on_one, 1);
        KeInitializeThreadedDpc(&threaded, counted_dpc::note, &threaded);
        machine.spawn("flush", [&] {
            for (KDPC* each : {static_cast<KDPC*>(&on_zero), static_cast<KDPC*>(&on_one),
                               static_cast<KDPC*>(&threaded)})
                KeInsertQueueDpc(each, nullptr, nullptr);
            KeFlushQueuedDpcs();
            EXPECT_EQ(on_zero.runs + on_one.runs + threaded.runs, 3);
        });
        machine.spawn("flush too", [] { KeFlushQueuedDpcs(); });
        machine.run();
    });
}

// The teardown of WDM drivers: a DPC that was removed or flushed is not accessed afterwards.
TEST(DpcsExplored, FreedAfterRemoveOrFlush_IsNotAccessed) {
    explore_options options = thorough();
    options.required_probes = {"dpc.flush_met_one_that_runs"};
    expect_explored(options, [](sim_machine& machine) {
        auto dpc = std::make_unique<counted_dpc>();
        KeSetTargetProcessorDpc(dpc.get(), 0);
        machine.spawn("owner", [&] {
            KeInsertQueueDpc(dpc.get(), nullptr, nullptr);
            if (!KeRemoveQueueDpc(dpc.get())) KeFlushQueuedDpcs();
            dpc.reset();
        });
        machine.spawn("other flush", [] { KeFlushQueuedDpcs(); });
        machine.run();
    });
}

// The DPCs of one processor never overlap.
TEST(DpcsExplored, DpcsOfOneProcessor_NeverOverlap) {
    expect_explored(thorough(), [](sim_machine& machine) {
        static int inside;
        inside = 0;
        static sim_machine* world;
        world = &machine;
        counted_dpc dpcs[3];
        for (counted_dpc& each : dpcs) {
            KeSetTargetProcessorDpc(&each, 0);
            each.then = [](counted_dpc&) {
                EXPECT_EQ(++inside, 1);
                world->yield();
                --inside;
            };
        }
        for (counted_dpc& each : dpcs)
            machine.spawn("insert", [&] { KeInsertQueueDpc(&each, nullptr, nullptr); });
        machine.run();
        for (const counted_dpc& each : dpcs)
            EXPECT_EQ(each.runs, 1);
    });
}

} // namespace
