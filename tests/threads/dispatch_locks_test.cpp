// Every kind of spin lock around a plain counter.
#include "concurrent_rounds.hpp"

#include <support/ke_shorthand.hpp>

#include <gtest/gtest.h>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

constexpr int rounds = 300;
constexpr int turns = 20;

class LockStress : public ::testing::Test {
protected:
    asio_machine machine_{{.processors = 2}};

    /// `section(body)` calls its body while it holds the lock.
    template <class Section>
    void expect_exclusion(const Section& section) {
        int count = 0;
        const auto add = [&](int) {
            for (int i = 0; i < turns; ++i)
                section([&] { ++count; });
        };
        run_concurrent_rounds(machine_, rounds, {add, add, add},
                              [&](int round) { EXPECT_EQ(count, 3 * turns * (round + 1)); });
    }
};

TEST_F(LockStress, SpinLock_HasOneHolderAtATime) {
    KSPIN_LOCK lock = 0;
    expect_exclusion([&](const auto& body) {
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);
        body();
        KeReleaseSpinLock(&lock, old);
    });
}

TEST_F(LockStress, TriedSpinLock_HasOneHolderAtATime) {
    KSPIN_LOCK lock = 0;
    expect_exclusion([&](const auto& body) {
        const KIRQL old = KeRaiseIrqlToDpcLevel();
        if (!KeTryToAcquireSpinLockAtDpcLevel(&lock)) KeAcquireSpinLockAtDpcLevel(&lock);
        body();
        KeReleaseSpinLockFromDpcLevel(&lock);
        KeLowerIrql(old);
    });
}

TEST_F(LockStress, InStackQueuedSpinLock_HasOneHolderAtATime) {
    KSPIN_LOCK lock = 0;
    expect_exclusion([&](const auto& body) {
        KLOCK_QUEUE_HANDLE handle;
        KeAcquireInStackQueuedSpinLock(&lock, &handle);
        body();
        KeReleaseInStackQueuedSpinLock(&handle);
    });
}

TEST_F(LockStress, ExclusiveSpinLock_HasOneHolderAtATime) {
    EX_SPIN_LOCK lock = 0;
    expect_exclusion([&](const auto& body) {
        const KIRQL old = ExAcquireSpinLockExclusive(&lock);
        body();
        ExReleaseSpinLockExclusive(&lock, old);
    });
}

TEST_F(LockStress, InterlockedListInsertAndRemove_NoEntryLost) {
    KSPIN_LOCK lock = 0;
    LIST_ENTRY head, entries[3];
    InitializeListHead(&head);
    std::vector<std::function<void(int)>> roles;
    for (LIST_ENTRY& each : entries)
        roles.emplace_back([&](int) {
            ExInterlockedInsertTailList(&head, &each, &lock);
            while (ExInterlockedRemoveHeadList(&head, &lock) == nullptr) {
            }
        });
    run_concurrent_rounds(machine_, rounds, roles, [&](int) { EXPECT_TRUE(IsListEmpty(&head)); });
}

// Readers see both halves of a write, or neither.
TEST_F(LockStress, SharedAndExclusiveHolders_NoPartialWriteRead) {
    EX_SPIN_LOCK lock = 0;
    int first = 0, second = 0;
    const auto read = [&](int) {
        for (int i = 0; i < turns; ++i) {
            const KIRQL old = ExAcquireSpinLockShared(&lock);
            EXPECT_EQ(first, second);
            ExReleaseSpinLockShared(&lock, old);
        }
    };
    const auto write = [&](int) {
        for (int i = 0; i < turns; ++i) {
            const KIRQL old = ExAcquireSpinLockExclusive(&lock);
            ++first;
            ++second;
            ExReleaseSpinLockExclusive(&lock, old);
        }
    };
    run_concurrent_rounds(machine_, rounds, {read, read, write}, [](int) {});
    EXPECT_EQ(first, rounds * turns);
}

} // namespace
