#include "checked_lock.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/spin_lock.h>

#include <limits>

using namespace irpverbs::dispatch::detail;

// The word of an EX_SPIN_LOCK holds a count of readers, a count of waiting writers, and the sign
// bit for the writer that holds the lock. A reader is admitted while there is no writer of either
// kind.
namespace {

constexpr EX_SPIN_LOCK one_reader = 1;
constexpr EX_SPIN_LOCK one_waiting_writer = 1 << 16; // MAXIMUM_PROCESSORS of each fit
constexpr EX_SPIN_LOCK all_readers = one_waiting_writer - 1;
constexpr EX_SPIN_LOCK writer = std::numeric_limits<EX_SPIN_LOCK>::min();

EX_SPIN_LOCK word_of(const void* lock) {
    return __atomic_load_n(static_cast<const EX_SPIN_LOCK*>(lock), __ATOMIC_RELAXED);
}

bool is_held(EX_SPIN_LOCK word) { return (word & (writer | all_readers)) != 0; }
bool has_writers(EX_SPIN_LOCK word) { return (word & ~all_readers) != 0; }

bool replace(EX_SPIN_LOCK* lock, EX_SPIN_LOCK before, EX_SPIN_LOCK after) {
    return __atomic_compare_exchange_n(lock, &before, after, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

[[gnu::noinline, gnu::cold]] void wait_for_exclusive(processor& self, EX_SPIN_LOCK* lock) {
    const auto held = [](const void* place) { return is_held(word_of(place)); };
    __atomic_fetch_add(lock, one_waiting_writer, __ATOMIC_RELAXED);
    for (unsigned turn = 0;; ++turn) {
        const EX_SPIN_LOCK word = word_of(lock);
        if (!is_held(word) && replace(lock, word, (word - one_waiting_writer) | writer)) return;
        self.owner->spin(self, held, lock, turn);
    }
}

void acquire_exclusive(processor& self, EX_SPIN_LOCK* lock) {
    if (!replace(lock, 0, writer)) wait_for_exclusive(self, lock);
}

void acquire_shared(processor& self, EX_SPIN_LOCK* lock) {
    const auto closed = [](const void* place) { return has_writers(word_of(place)); };
    for (unsigned turn = 0;; ++turn) {
        const EX_SPIN_LOCK word = word_of(lock);
        if (!has_writers(word) && replace(lock, word, word + one_reader)) return;
        self.owner->spin(self, closed, lock, turn);
    }
}

void acquire(processor& self, EX_SPIN_LOCK* lock, lock_kind kind) {
    if (kind == lock_kind::shared)
        acquire_shared(self, lock);
    else
        acquire_exclusive(self, lock);
}

void release(EX_SPIN_LOCK* lock, lock_kind kind) {
    const bool held =
        kind == lock_kind::shared
            ? (__atomic_fetch_sub(lock, one_reader, __ATOMIC_RELEASE) & all_readers) != 0
            : __atomic_fetch_and(lock, ~writer, __ATOMIC_RELEASE) < 0;
    if (!held)
        bug_check(SPIN_LOCK_NOT_OWNED,
                  kind == lock_kind::shared ? "no reader holds the lock"
                                            : "no writer holds the lock",
                  reinterpret_cast<ULONG_PTR>(lock));
}

// Succeeds for the only reader; waiting writers continue to wait.
bool convert(EX_SPIN_LOCK* lock) {
    for (;;) {
        const EX_SPIN_LOCK word = word_of(lock);
        if ((word & (writer | all_readers)) != one_reader) return false;
        if (replace(lock, word, (word - one_reader) | writer)) return true;
    }
}

NT_SLOW_PATH KIRQL acquire_checked(EX_SPIN_LOCK* lock, lock_kind kind) {
    processor& self = this_processor();
    const checked_acquisition checked{self, {lock, kind}, irql_rules::ExAcquireSpinLock};
    return checked.raising([&] { acquire(self, lock, kind); });
}

NT_SLOW_PATH void acquire_at_level_checked(EX_SPIN_LOCK* lock, lock_kind kind) {
    processor& self = this_processor();
    const checked_acquisition checked{self, {lock, kind}, irql_rules::ExAcquireSpinLockAtDpcLevel};
    checked.at_level([&] { acquire(self, lock, kind); });
}

NT_SLOW_PATH void release_checked(EX_SPIN_LOCK* lock, lock_kind kind, const irql_rule& bound,
                                  std::optional<KIRQL> to) {
    processor& self = this_processor();
    const bool is_free = !is_held(word_of(lock));
    const checked_release checked{self, lock, kind, bound, is_free, to};
    checked([&] { release(lock, kind); });
}

NT_SLOW_PATH bool convert_checked(EX_SPIN_LOCK* lock) {
    instrumented_call(irql_rules::ExTryConvertSharedSpinLockExclusive, point::lock_acquire, lock);
    if (!convert(lock)) return false;
    if (lock_checks_enabled()) lock_converted(this_processor(), lock, lock_kind::exclusive);
    return true;
}

KIRQL acquire_raising(EX_SPIN_LOCK* lock, lock_kind kind) {
    if (instrumented()) return acquire_checked(lock, kind);
    processor& self = this_processor();
    return acquire_unchecked(self, [&] { acquire(self, lock, kind); });
}

void acquire_at_level(EX_SPIN_LOCK* lock, lock_kind kind) {
    if (instrumented()) return acquire_at_level_checked(lock, kind);
    acquire(this_processor(), lock, kind);
}

void release_lowering(EX_SPIN_LOCK* lock, lock_kind kind, KIRQL to) {
    if (instrumented()) return release_checked(lock, kind, irql_rules::ExReleaseSpinLock, to);
    release(lock, kind);
    lower_irql(this_processor(), to);
}

void release_at_level(EX_SPIN_LOCK* lock, lock_kind kind) {
    if (instrumented())
        return release_checked(lock, kind, irql_rules::ExReleaseSpinLockFromDpcLevel, std::nullopt);
    release(lock, kind);
}

} // namespace

extern "C" {

KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock) {
    return acquire_raising(SpinLock, lock_kind::exclusive);
}

KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock) {
    return acquire_raising(SpinLock, lock_kind::shared);
}

void ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    release_lowering(SpinLock, lock_kind::exclusive, OldIrql);
}

void ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql) {
    release_lowering(SpinLock, lock_kind::shared, OldIrql);
}

void ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock) {
    acquire_at_level(SpinLock, lock_kind::exclusive);
}

void ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock) {
    acquire_at_level(SpinLock, lock_kind::shared);
}

void ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock) {
    release_at_level(SpinLock, lock_kind::exclusive);
}

void ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock) {
    release_at_level(SpinLock, lock_kind::shared);
}

LONG ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock) {
    return instrumented() ? convert_checked(SpinLock) : convert(SpinLock);
}

} // extern "C"
