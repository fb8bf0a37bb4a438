#include "standard.hpp"

#include "read_write.hpp"

using namespace irpverbs::windows;

// ActiveCount: the readers, or -1 with a writer.
namespace {

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
    ERESOURCE& lock = PushLock->Resource;
    enter_when_possible(lock, &ERESOURCE::NumberOfExclusiveWaiters, true,
                        [&] { return enter_exclusive(lock); });
}

void ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG) {
    ERESOURCE& lock = PushLock->Resource;
    enter_when_possible(lock, &ERESOURCE::NumberOfSharedWaiters, true,
                        [&] { return enter_shared(lock); });
}

void ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG) { leave(PushLock->Resource, -1); }
void ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG) { leave(PushLock->Resource, 1); }

} // extern "C"
