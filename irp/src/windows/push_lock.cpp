#include "standard.hpp"

#include "irql_rules.hpp"
#include "read_write.hpp"

#include <irp/support/critical_region.hpp>

using namespace irpverbs::windows;

// ActiveCount: the readers, or -1 with a writer.
namespace {

// The first parameters of bug check 0xC4.
constexpr ULONG_PTR acquire_id = 0xEA;
constexpr ULONG_PTR release_id = 0xEB;

void check_call(const irpverbs::dispatch::detail::irql_rule& rule, const EX_PUSH_LOCK* lock,
                ULONG_PTR id) {
    if (!irpverbs::dispatch::detail::verifying()) return;
    check_irql_of(rule);
    irpverbs::irp::verify::check_critical_region(lock, rule.function, id);
    if (id == release_id) irpverbs::irp::verify::region_lock_released(lock);
}

bool enter_exclusive(ERESOURCE& lock) {
    if (lock.ActiveCount != 0) return false;
    lock.ActiveCount = -1;
    return true;
}

bool enter_shared(ERESOURCE& lock) {
    if (lock.ActiveCount < 0 || lock.NumberOfExclusiveWaiters != 0) return false;
    ++lock.ActiveCount;
    return true;
}

void leave(ERESOURCE& lock, SHORT by) {
    const state_guard guard(lock);
    lock.ActiveCount = static_cast<SHORT>(lock.ActiveCount - by);
    if (lock.ActiveCount == 0) announce_change(lock);
}

} // namespace

extern "C" {

void ExInitializePushLock(PEX_PUSH_LOCK PushLock) { initialize_state(PushLock->Resource); }

void ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG) {
    check_call(irql_rules::ExAcquirePushLockExclusive, PushLock, acquire_id);
    ERESOURCE& lock = PushLock->Resource;
    enter_when_possible(lock, &ERESOURCE::NumberOfExclusiveWaiters, true,
                        [&] { return enter_exclusive(lock); });
    if (irpverbs::dispatch::detail::verifying())
        irpverbs::irp::verify::region_lock_acquired(PushLock);
}

void ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG) {
    check_call(irql_rules::ExAcquirePushLockShared, PushLock, acquire_id);
    ERESOURCE& lock = PushLock->Resource;
    enter_when_possible(lock, &ERESOURCE::NumberOfSharedWaiters, true,
                        [&] { return enter_shared(lock); });
    if (irpverbs::dispatch::detail::verifying())
        irpverbs::irp::verify::region_lock_acquired(PushLock);
}

void ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG) {
    check_call(irql_rules::ExReleasePushLockExclusive, PushLock, release_id);
    leave(PushLock->Resource, -1);
}
void ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG) {
    check_call(irql_rules::ExReleasePushLockShared, PushLock, release_id);
    leave(PushLock->Resource, 1);
}

} // extern "C"
