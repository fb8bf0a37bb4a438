// The turns of readers and writers, for ERESOURCE and push locks: a thread enters when its turn has
// come, and waits until then.
#ifndef IRPVERBS_IRP_SRC_WINDOWS_READ_WRITE_HPP
#define IRPVERBS_IRP_SRC_WINDOWS_READ_WRITE_HPP

#include <windows/wdk/executive.h>

namespace irpverbs::windows {

inline void initialize_state(ERESOURCE& resource) {
    resource = {};
    KeInitializeSpinLock(&resource.SpinLock);
    InitializeListHead(&resource.Waiters);
}

/// Holds the state of `resource`.
class state_guard {
public:
    explicit state_guard(ERESOURCE& resource) : resource_(resource) {
        KeAcquireSpinLock(&resource_.SpinLock, &old_);
    }
    ~state_guard() { KeReleaseSpinLock(&resource_.SpinLock, old_); }
    state_guard(const state_guard&) = delete;
    state_guard& operator=(const state_guard&) = delete;

private:
    ERESOURCE& resource_;
    KIRQL old_ = 0;
};

/// A thread that waits for a change.
struct waiter {
    LIST_ENTRY entry;
    KEVENT changed;
};

/// Calls `enter` under the guard until it returns true; between two calls the thread waits for a
/// change, counted in `waiters`. Without `wait` there is one call, whose result is returned.
template <class Enter>
bool enter_when_possible(ERESOURCE& resource, ULONG ERESOURCE::*waiters, bool wait, Enter enter) {
    waiter self;
    for (bool waited = false;; waited = true) {
        {
            const state_guard guard(resource);
            if (waited) --(resource.*waiters);
            if (enter()) return true;
            if (!wait) return false;
            ++(resource.*waiters);
            ++resource.ContentionCount;
            KeInitializeEvent(&self.changed, NotificationEvent, FALSE);
            InsertTailList(&resource.Waiters, &self.entry);
        }
        KeWaitForSingleObject(&self.changed, Executive, KernelMode, FALSE, nullptr);
    }
}

/// Under the guard, which keeps each waiter's event alive: the waiters try again.
inline void announce_change(ERESOURCE& resource) {
    while (!IsListEmpty(&resource.Waiters)) {
        LIST_ENTRY* const first = RemoveHeadList(&resource.Waiters);
        KeSetEvent(&CONTAINING_RECORD(first, waiter, entry)->changed, IO_NO_INCREMENT, FALSE);
    }
}

} // namespace irpverbs::windows

#endif
