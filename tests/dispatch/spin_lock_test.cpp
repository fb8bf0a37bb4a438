#include <dispatch/support/spin_guard_at_dispatch.hpp>
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/ke_shorthand.hpp>

#include <memory>
#include <vector>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;
using irpverbs::dispatch::detail::spin_guard;
using irpverbs::dispatch::detail::spin_guard_at_dispatch;

struct spin_lock {
    KSPIN_LOCK word;
    spin_lock() { KeInitializeSpinLock(&word); }
};

class SpinLocks : public BothMachines {
protected:
    spin_lock lock_;
    KSPIN_LOCK* lock() { return &lock_.word; }
};

TEST_P(SpinLocks, AcquireAndRelease_RaiseAndLowerIrql) {
    KIRQL old = HIGH_LEVEL;
    KeAcquireSpinLock(lock(), &old);
    EXPECT_EQ(old, PASSIVE_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    EXPECT_FALSE(KeTestSpinLock(lock()));
    KeReleaseSpinLock(lock(), old);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    EXPECT_TRUE(KeTestSpinLock(lock()));
}

// A constant 0 here would hide every IRQL error of the caller.
TEST_P(SpinLocks, AcquireRaiseToDpcAtApcLevel_ReturnsApcLevel) {
    KIRQL before;
    KeRaiseIrql(APC_LEVEL, &before);
    EXPECT_EQ(KeAcquireSpinLockRaiseToDpc(lock()), APC_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeReleaseSpinLock(lock(), APC_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    KeLowerIrql(before);
}

TEST_P(SpinLocks, AcquireAtDpcLevel_KeepsIrql) {
    const at_dispatch_level raised;
    KeAcquireSpinLockAtDpcLevel(lock());
    EXPECT_FALSE(KeTestSpinLock(lock()));
    KeReleaseSpinLockFromDpcLevel(lock());
    EXPECT_TRUE(KeTestSpinLock(lock()));
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
}

TEST_P(SpinLocks, GuardAtDispatch_HoldsTheLockAndKeepsIrql) {
    const at_dispatch_level raised;
    {
        KSPIN_LOCK first = 0;
        const spin_guard outer(first);
        const spin_guard_at_dispatch guard(outer, *lock());
        EXPECT_FALSE(KeTestSpinLock(lock()));
        EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    }
    EXPECT_TRUE(KeTestSpinLock(lock()));
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
}

TEST_P(SpinLocks, GuardAtDispatchOfHeldLock_WaitsForIt) {
    int inside = 0;
    const auto count = [&] {
        const at_dispatch_level raised;
        for (int i = 0; i < 100; ++i) {
            KSPIN_LOCK first = 0;
            const spin_guard outer(first);
            const spin_guard_at_dispatch guard(outer, *lock());
            ++inside;
        }
    };
    {
        const system_thread other(count);
        count();
    }
    EXPECT_EQ(inside, 200);
}

TEST_P(SpinLocks, TryAcquireHeldLock_Fails) {
    const at_dispatch_level raised;
    EXPECT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(lock()));
    EXPECT_FALSE(KeTryToAcquireSpinLockAtDpcLevel(lock()));
    KeReleaseSpinLockFromDpcLevel(lock());
    EXPECT_TRUE(KeTryToAcquireSpinLockAtDpcLevel(lock()));
    KeReleaseSpinLockFromDpcLevel(lock());
}

TEST_P(SpinLocks, SecondAcquireByOwner_BugChecks) {
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(lock());
    EXPECT_EQ(bug_check_of([&] { KeAcquireSpinLockAtDpcLevel(lock()); }), SPIN_LOCK_ALREADY_OWNED);
    KeReleaseSpinLock(lock(), old);
}

TEST_P(SpinLocks, ReleaseOfFreeLock_BugChecks) {
    const at_dispatch_level raised;
    EXPECT_EQ(bug_check_of([&] { KeReleaseSpinLockFromDpcLevel(lock()); }), SPIN_LOCK_NOT_OWNED);
    EXPECT_EQ(bug_check_of([&] { KeReleaseSpinLock(lock(), PASSIVE_LEVEL); }), SPIN_LOCK_NOT_OWNED);
}

TEST_P(SpinLocks, ReleaseByAnotherThread_BugChecks) {
    event taken, may_release;
    system_thread holder([&] {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(lock());
        set(taken);
        while (KeReadStateEvent(&may_release) == 0)
            KeStallExecutionProcessor(1);
        KeReleaseSpinLock(lock(), old);
    });
    wait(&taken);
    {
        const at_dispatch_level raised;
        EXPECT_EQ(bug_check_of([&] { KeReleaseSpinLockFromDpcLevel(lock()); }),
                  SPIN_LOCK_NOT_OWNED);
    }
    set(may_release);
}

TEST_P(SpinLocks, QueuedAcquire_SavesIrqlInHandle) {
    KIRQL before;
    KeRaiseIrql(APC_LEVEL, &before);
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLock(lock(), &handle);
    EXPECT_EQ(handle.OldIrql, APC_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    EXPECT_FALSE(KeTestSpinLock(lock()));
    KeReleaseInStackQueuedSpinLock(&handle);
    EXPECT_EQ(KeGetCurrentIrql(), APC_LEVEL);
    EXPECT_TRUE(KeTestSpinLock(lock()));
    KeLowerIrql(before);
}

TEST_P(SpinLocks, SecondQueuedReleaseAtDpcLevel_BugChecks) {
    const at_dispatch_level raised;
    KLOCK_QUEUE_HANDLE handle;
    KeAcquireInStackQueuedSpinLockAtDpcLevel(lock(), &handle);
    EXPECT_FALSE(KeTestSpinLock(lock()));
    KeReleaseInStackQueuedSpinLockFromDpcLevel(&handle);
    EXPECT_TRUE(KeTestSpinLock(lock()));
    EXPECT_EQ(bug_check_of([&] { KeReleaseInStackQueuedSpinLockFromDpcLevel(&handle); }),
              SPIN_LOCK_NOT_OWNED);
}

TEST_P(SpinLocks, SharedAndExclusiveAcquire_SetWordAndIrql) {
    EX_SPIN_LOCK word = 0;
    const KIRQL first = ExAcquireSpinLockShared(&word);
    EXPECT_EQ(first, PASSIVE_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    EXPECT_EQ(word, 1);
    ExReleaseSpinLockShared(&word, first);
    EXPECT_EQ(word, 0);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    const KIRQL old = ExAcquireSpinLockExclusive(&word);
    EXPECT_LT(word, 0);
    ExReleaseSpinLockExclusive(&word, old);
    EXPECT_EQ(word, 0);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(SpinLocks, ReaderWriterFormsAtDpcLevel_LeaveTheLevelAlone) {
    const at_dispatch_level raised;
    EX_SPIN_LOCK word = 0;
    ExAcquireSpinLockSharedAtDpcLevel(&word);
    EXPECT_EQ(word, 1);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    ExReleaseSpinLockSharedFromDpcLevel(&word);
    EXPECT_EQ(word, 0);
    ExAcquireSpinLockExclusiveAtDpcLevel(&word);
    EXPECT_LT(word, 0);
    ExReleaseSpinLockExclusiveFromDpcLevel(&word);
    EXPECT_EQ(word, 0);
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
    EXPECT_EQ(bug_check_of([&] { ExReleaseSpinLockExclusiveFromDpcLevel(&word); }),
              SPIN_LOCK_NOT_OWNED);
    word = 0;
    EXPECT_EQ(bug_check_of([&] { ExReleaseSpinLockSharedFromDpcLevel(&word); }),
              SPIN_LOCK_NOT_OWNED);
}

TEST_P(SpinLocks, ConversionToExclusive_IsForTheOnlyReader) {
    EX_SPIN_LOCK word = 0;
    const KIRQL old = ExAcquireSpinLockShared(&word);
    EXPECT_NE(ExTryConvertSharedSpinLockExclusive(&word), 0);
    EXPECT_LT(word, 0);
    EXPECT_EQ(ExTryConvertSharedSpinLockExclusive(&word), 0);
    ExReleaseSpinLockExclusive(&word, old);
    EXPECT_EQ(word, 0);
    EXPECT_EQ(ExTryConvertSharedSpinLockExclusive(&word), 0);
    EXPECT_EQ(word, 0);
    word = 2; // two readers
    EXPECT_EQ(ExTryConvertSharedSpinLockExclusive(&word), 0);
    EXPECT_EQ(word, 2);
}

TEST_P(SpinLocks, ReleaseOfFreeReaderWriterLock_BugChecks) {
    const at_dispatch_level raised;
    EX_SPIN_LOCK word = 0;
    EXPECT_EQ(bug_check_of([&] { ExReleaseSpinLockExclusive(&word, DISPATCH_LEVEL); }),
              SPIN_LOCK_NOT_OWNED);
    word = 0;
    EXPECT_EQ(bug_check_of([&] { ExReleaseSpinLockShared(&word, DISPATCH_LEVEL); }),
              SPIN_LOCK_NOT_OWNED);
}

// The lock is released before the level is lowered, so the DPC may acquire it.
TEST_P(SpinLocks, DpcInsertedUnderLock_RunsAfterRelease) {
    static KSPIN_LOCK word;
    KeInitializeSpinLock(&word);
    counted_dpc dpc;
    dpc.then = [](counted_dpc&) {
        KeAcquireSpinLockAtDpcLevel(&word);
        KeReleaseSpinLockFromDpcLevel(&word);
    };
    const KIRQL old = KeAcquireSpinLockRaiseToDpc(&word);
    KeInsertQueueDpc(&dpc, nullptr, nullptr);
    EXPECT_EQ(dpc.runs, 0);
    KeReleaseSpinLock(&word, old);
    EXPECT_EQ(dpc.runs, 1);
}

IRPVERBS_ON_BOTH_MACHINES(SpinLocks);

// Three actors read, are preempted and write; `section` makes that one step.
template <class Section>
void expect_exclusion(Section section) {
    explore_options options;
    options.random_runs = options.pct_runs = 300;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [&](sim_machine& machine) {
        int counter = 0;
        const auto add_one = [&] {
            const int seen = counter;
            machine.yield();
            counter = seen + 1;
        };
        typename Section::lock lock{};
        for (const char* name : {"one", "two", "three"})
            machine.spawn(name, [&] { section(lock, add_one); });
        machine.run();
        EXPECT_EQ(counter, 3);
    });
}

struct plain {
    using lock = KSPIN_LOCK;
    template <class Body>
    void operator()(lock& word, const Body& body) const {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&word);
        body();
        KeReleaseSpinLock(&word, old);
    }
};

struct tried {
    using lock = KSPIN_LOCK;
    template <class Body>
    void operator()(lock& word, const Body& body) const {
        const at_dispatch_level raised;
        while (!KeTryToAcquireSpinLockAtDpcLevel(&word))
            KeStallExecutionProcessor(1);
        body();
        KeReleaseSpinLockFromDpcLevel(&word);
    }
};

struct queued {
    using lock = KSPIN_LOCK;
    template <class Body>
    void operator()(lock& word, const Body& body) const {
        KLOCK_QUEUE_HANDLE handle;
        KeAcquireInStackQueuedSpinLock(&word, &handle);
        body();
        KeReleaseInStackQueuedSpinLock(&handle);
    }
};

struct exclusive {
    using lock = EX_SPIN_LOCK;
    template <class Body>
    void operator()(lock& word, const Body& body) const {
        const KIRQL old = ExAcquireSpinLockExclusive(&word);
        body();
        ExReleaseSpinLockExclusive(&word, old);
    }
};

TEST(SpinLocksExplored, PlainLock_Excludes) { expect_exclusion(plain{}); }
TEST(SpinLocksExplored, TryAcquiredLock_Excludes) { expect_exclusion(tried{}); }
TEST(SpinLocksExplored, QueuedLock_Excludes) { expect_exclusion(queued{}); }
TEST(SpinLocksExplored, ExclusiveLock_Excludes) { expect_exclusion(exclusive{}); }

TEST(SpinLocksExplored, ReadersAndWriter_WriterExcludesReaders) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        EX_SPIN_LOCK lock = 0;
        int readers = 0;
        bool writing = false;
        for (const char* name : {"reader", "other reader"})
            machine.spawn(name, [&] {
                const KIRQL old = ExAcquireSpinLockShared(&lock);
                ++readers;
                EXPECT_FALSE(writing);
                machine.yield();
                EXPECT_FALSE(writing);
                --readers;
                ExReleaseSpinLockShared(&lock, old);
            });
        machine.spawn("writer", [&] {
            const KIRQL old = ExAcquireSpinLockExclusive(&lock);
            writing = true;
            EXPECT_EQ(readers, 0);
            machine.yield();
            writing = false;
            ExReleaseSpinLockExclusive(&lock, old);
        });
        machine.run();
    });
}

// A reader holds the lock and a writer waits for it; then another reader comes.
// The delays set the order of arrival.
TEST(SpinLocksExplored, ReaderThatComesAfterAWaitingWriter_WaitsForIt) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(without_delays(options), [](sim_machine& machine) {
        EX_SPIN_LOCK lock = 0;
        std::string order;
        machine.spawn("reader", [&] {
            const KIRQL old = ExAcquireSpinLockShared(&lock);
            KeStallExecutionProcessor(3'000);
            order += 'r';
            ExReleaseSpinLockShared(&lock, old);
        });
        machine.spawn("writer", [&] {
            delay(1 * millisecond);
            const KIRQL old = ExAcquireSpinLockExclusive(&lock);
            order += 'w';
            ExReleaseSpinLockExclusive(&lock, old);
        });
        machine.spawn("late reader", [&] {
            delay(2 * millisecond);
            const KIRQL old = ExAcquireSpinLockShared(&lock);
            order += 'l';
            ExReleaseSpinLockShared(&lock, old);
        });
        machine.run();
        EXPECT_EQ(order, "rwl");
    });
}

TEST(SpinLocksExplored, SharedAcquisitionWithinOne_DeadlocksWithAWaitingWriter) {
    explore_options options;
    const explore_summary summary = expect_found(options, [](sim_machine& machine) {
        EX_SPIN_LOCK lock = 0;
        machine.spawn("reader", [&] {
            const KIRQL old = ExAcquireSpinLockShared(&lock);
            ExReleaseSpinLockShared(&lock, ExAcquireSpinLockShared(&lock));
            ExReleaseSpinLockShared(&lock, old);
        });
        machine.spawn("writer", [&] {
            ExReleaseSpinLockExclusive(&lock, ExAcquireSpinLockExclusive(&lock));
        });
        machine.run();
    });
    EXPECT_EQ(summary.failure->what.substr(0, 4), "hung");
}

// A reader that is converted to a writer goes before the waiting writer, and excludes like a
// writer.
TEST(SpinLocksExplored, ReaderThatIsConverted_ExcludesLikeAWriter) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        EX_SPIN_LOCK lock = 0;
        int writes = 0;
        int conversions = 0;
        const auto write = [&] {
            const int seen = writes;
            machine.yield();
            writes = seen + 1;
        };
        for (const char* name : {"reader", "other reader"})
            machine.spawn(name, [&] {
                const KIRQL old = ExAcquireSpinLockShared(&lock);
                if (ExTryConvertSharedSpinLockExclusive(&lock) == 0)
                    return ExReleaseSpinLockShared(&lock, old);
                ++conversions;
                write();
                ExReleaseSpinLockExclusive(&lock, old);
            });
        machine.spawn("writer", [&] {
            const KIRQL old = ExAcquireSpinLockExclusive(&lock);
            write();
            ExReleaseSpinLockExclusive(&lock, old);
        });
        machine.run();
        EXPECT_EQ(writes, conversions + 1);
        EXPECT_EQ(lock, 0);
    });
}

// Two waiting writers must not lose each other's mark, nor keep a reader out for ever.
TEST(SpinLocksExplored, WritersThatWaitTogether_LeaveTheLockFree) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(options, [](sim_machine& machine) {
        EX_SPIN_LOCK lock = 0;
        for (const char* name : {"writer", "other writer"})
            machine.spawn(name, [&] {
                ExReleaseSpinLockExclusive(&lock, ExAcquireSpinLockExclusive(&lock));
            });
        machine.spawn("reader",
                      [&] { ExReleaseSpinLockShared(&lock, ExAcquireSpinLockShared(&lock)); });
        machine.run();
        EXPECT_EQ(lock, 0);
    });
}

// The lock is granted in the order of arrival under every schedule.
// The delays set the order of arrival.
TEST(SpinLocksExplored, QueuedLock_GrantedInFifoOrder) {
    explore_options options;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 2;
    expect_explored(without_delays(options), [](sim_machine& machine) {
        KSPIN_LOCK lock = 0;
        std::vector<int> order;
        for (int i = 0; i < 3; ++i)
            machine.spawn("waiter" + std::to_string(i), [&, i] {
                delay(i * millisecond);
                KLOCK_QUEUE_HANDLE handle;
                KeAcquireInStackQueuedSpinLock(&lock, &handle);
                order.push_back(i);
                KeStallExecutionProcessor(10'000); // until all are queued
                KeReleaseInStackQueuedSpinLock(&handle);
            });
        machine.run();
        EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    });
}

} // namespace
