#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

/// Calls `body` when it runs, then sets `done`; or only calls `last_step`, after which it may be
/// queued again or freed.
struct work : WORK_QUEUE_ITEM {
    std::function<void()> body;
    std::function<void()> last_step;
    event done;
    int runs = 0;

    explicit work(std::function<void()> its_body = {}) : body(std::move(its_body)) {
        ExInitializeWorkItem(this, run, this);
    }
    void queue(WORK_QUEUE_TYPE type = DelayedWorkQueue) { ExQueueWorkItem(this, type); }
    static void run(PVOID context) {
        auto& self = *static_cast<work*>(context);
        ++self.runs;
        if (self.last_step) return self.last_step();
        if (self.body) self.body();
        set(self.done);
    }
};

class WorkItems : public BothMachines {};

TEST_P(WorkItems, EveryQueueType_RunsAtPassiveOnSystemThread) {
    for (const WORK_QUEUE_TYPE type :
         {CriticalWorkQueue, DelayedWorkQueue, HyperCriticalWorkQueue, NormalWorkQueue}) {
        KIRQL level = HIGH_LEVEL;
        PKTHREAD thread = nullptr;
        work one([&] {
            level = KeGetCurrentIrql();
            thread = KeGetCurrentThread();
        });
        one.queue(type);
        wait(&one.done);
        EXPECT_EQ(level, PASSIVE_LEVEL);
        EXPECT_NE(thread, KeGetCurrentThread());
        EXPECT_EQ(one.runs, 1);
    }
}

TEST_P(WorkItems, QueuedAtDispatch_Runs) {
    work one;
    {
        const at_dispatch_level raised;
        one.queue();
    }
    wait(&one.done);
}

TEST_P(WorkItems, ItemRequeuesItself_RunsAgain) {
    event finished;
    work one;
    one.last_step = [&] {
        if (one.runs < 5)
            one.queue();
        else
            set(finished);
    };
    one.queue();
    wait(&finished);
    EXPECT_EQ(one.runs, 5);
}

TEST_P(WorkItems, ItemFreedByItsRoutine_IsNotAccessed) {
    struct owned {
        WORK_QUEUE_ITEM item;
        event* freed;
    };
    event freed;
    auto* one = new owned{{}, &freed};
    ExInitializeWorkItem(
        &one->item,
        [](PVOID context) {
            auto* self = static_cast<owned*>(context);
            event* was_freed = self->freed;
            delete self;
            set(*was_freed);
        },
        one);
    ExQueueWorkItem(&one->item, DelayedWorkQueue);
    wait(&freed);
}

// The test occupies all workers first, so that the item stays queued.
TEST_P(WorkItems, QueuedTwice_BugChecks) {
    constexpr int most_workers = 256;
    event go;
    std::vector<std::unique_ptr<work>> busy;
    for (int i = 0; i < most_workers; ++i) {
        busy.push_back(std::make_unique<work>([&] { wait(&go); }));
        busy.back()->queue();
    }
    work one;
    one.queue();
    EXPECT_EQ(bug_check_of([&] { one.queue(); }), INVALID_WORK_QUEUE_ITEM);
    set(go);
    wait(&one.done);
    for (const auto& each : busy)
        wait(&each->done);
    EXPECT_EQ(one.runs, 1);
}

// Items that wait for each other need a thread each.
TEST_P(WorkItems, BlockedItem_OthersRun) {
    event go;
    work first([&] { wait(&go); });
    work second([&] { set(go); });
    first.queue();
    second.queue();
    wait(&first.done);
    wait(&second.done);
}

// Each item waits for the effect of a further item.
TEST_P(WorkItems, HundredBlockedItems_NextItemRuns) {
    event go;
    std::vector<std::unique_ptr<work>> all;
    for (int i = 0; i < 100; ++i) {
        all.push_back(std::make_unique<work>([&] { wait(&go); }));
        all.back()->queue();
    }
    work last([&] { set(go); });
    last.queue();
    wait(&last.done);
    for (const auto& each : all)
        wait(&each->done);
}

// One worker is free to take the items.
TEST_P(WorkItems, CriticalQueue_RunsBeforeDelayed) {
    constexpr int most_workers = 256;
    event first, go, started(SynchronizationEvent);
    std::vector<std::unique_ptr<work>> busy;
    for (int i = 0; i < most_workers; ++i) {
        busy.push_back(std::make_unique<work>([&, i] {
            set(started);
            wait(i == 0 ? &first : &go);
        }));
        busy.back()->queue();
        wait(&started);
    }
    std::string order;
    work delayed([&] { order += 'd'; }), critical([&] { order += 'c'; }),
        hyper([&] { order += 'h'; });
    delayed.queue(DelayedWorkQueue);
    critical.queue(CriticalWorkQueue);
    hyper.queue(HyperCriticalWorkQueue);
    set(first);
    for (work* each : {&delayed, &critical, &hyper})
        wait(&each->done);
    EXPECT_EQ(order, "chd");
    set(go);
    for (const auto& each : busy)
        wait(&each->done);
}

IRPVERBS_ON_BOTH_MACHINES(WorkItems);

// On the real machine the bug check occurs on a thread where the test cannot catch it.
TEST(WorkItemsExplored, ReturnAtRaisedIrql_BugChecks) {
    const explore_summary found = expect_found({}, [](sim_machine& machine) {
        work one([] { KeRaiseIrqlToDpcLevel(); });
        machine.spawn("client", [&] { one.queue(); });
        machine.run();
    });
    EXPECT_NE(found.failure->what.find("IRQL_UNEXPECTED_VALUE"), std::string::npos);
}

TEST(WorkItemsExplored, EachInsert_RunsOnce) {
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        int runs = 0;
        work again, other([&] { ++runs; });
        again.last_step = [&] {
            ++runs;
            if (again.runs < 3) again.queue(CriticalWorkQueue);
        };
        machine.spawn("one", [&] { again.queue(); });
        machine.spawn("two", [&] { other.queue(); });
        machine.run();
        EXPECT_EQ(runs, 4);
    });
}

} // namespace
