// Waiting and signalling, common to all dispatcher objects.
#pragma once

#include <dispatch/queue.h>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/scheduled_spin.hpp>
#include <dispatch/wait.h>

#include <cstdint>
#include <mutex>

namespace irpverbs::dispatch::detail {

enum object_type : UCHAR {
    notification_event = 1,
    synchronization_event,
    semaphore_object,
    mutant_object,
    notification_timer,
    synchronization_timer,
    thread_object,
    queue_object,
};

/// Guards every dispatcher object of the process. It is held for a few instructions, and its holder
/// calls no other code.
extern process_spin dispatcher_lock;

/// The state is written under dispatcher_lock, except for a timer that is set. It may be read
/// anywhere.
inline LONG state_of(const DISPATCHER_HEADER& object) {
    return __atomic_load_n(&object.SignalState, __ATOMIC_ACQUIRE);
}
inline void set_state(DISPATCHER_HEADER& object, LONG state) {
    __atomic_store_n(&object.SignalState, state, __ATOMIC_RELEASE);
}

/// Changes the state and returns the new one. Under dispatcher_lock.
inline LONG add_to_state(DISPATCHER_HEADER& object, LONG change) {
    const LONG state = state_of(object) + change;
    set_state(object, state);
    return state;
}

/// A waiting thread; the structure lies on its stack.
struct wait_state {
    processor* self;
    KWAIT_BLOCK* blocks;
    ULONG count;
    bool all;
    bool done = false; // guarded by dispatcher_lock
    NTSTATUS result = STATUS_TIMEOUT;
    LIST_ENTRY* entry = nullptr; // entry that a KQUEUE passed to the thread
};

/// Processors to wake after the release of the dispatcher lock.
class wake_list {
public:
    void add(processor& target) {
        if (count_ == capacity) flush();
        list_[count_++] = &target;
    }
    void flush();

private:
    static constexpr unsigned capacity = 16;
    processor* list_[capacity];
    unsigned count_ = 0;
};

/// Releases the threads whose waits the object's new state satisfies. Under dispatcher_lock.
void release_waiters(DISPATCHER_HEADER& object, wake_list& woken);

/// Removes a waiter from its lists and releases it with `result`. Under dispatcher_lock.
void complete_wait(wait_state& waiter, NTSTATUS result, wake_list& woken);

/// The time at which a wait ends without its object.
struct time_limit {
    std::uint64_t machine_time = no_deadline;
    std::uint64_t system_time = 0; // not 0: this time counts instead
};

/// Queues the waiter's blocks, waits, and unqueues them after a time-out. `guard` holds
/// dispatcher_lock.
NTSTATUS block(wait_state& waiter, const time_limit& limit, std::unique_lock<process_spin>& guard);

/// Converts a WDM time-out to the clocks of the processor's machine.
time_limit limit_of(processor& self, const LARGE_INTEGER* timeout);

/// Bug check 0xB8 when the caller must not wait now.
void require_wait_allowed(processor& self, const LARGE_INTEGER* timeout, const char* function);

/// Bug check 0x04 for an object that can't be waited for.
void require_waitable(const DISPATCHER_HEADER& object);

inline void initialize_header(DISPATCHER_HEADER& header, object_type type, LONG state) {
    header = {};
    header.Type = type;
    header.SignalState = state;
    InitializeListHead(&header.WaitListHead);
}

/// Called when a thread that serves a KQUEUE is about to block elsewhere, and when it returns.
void queue_thread_blocked(processor& self, wake_list& woken);
void queue_thread_unblocked(processor& self);
/// Ends the thread's service of its queue. Under dispatcher_lock.
void dissociate_queue(processor& self, wake_list& woken);

} // namespace irpverbs::dispatch::detail
