#include "waiting.hpp"

#include "irql/irql_rules.hpp"
#include "locks/checked_lock.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"

#include <dispatch/support/machine_hooks.hpp>

#include <cstdio>

namespace irpverbs::dispatch::detail {

process_spin dispatcher_lock;

namespace {

bool can_acquire(const DISPATCHER_HEADER& object, const KTHREAD* thread) {
    if (state_of(object) > 0) return true;
    if (object.Type != mutant_object) return false;
    return reinterpret_cast<const KMUTANT&>(object).OwnerThread == thread;
}

// Changes the object's state as a successful wait does, and returns the status of the wait.
NTSTATUS acquire_object(DISPATCHER_HEADER& object, KTHREAD* thread) {
    switch (object.Type) {
    case synchronization_event:
    case synchronization_timer:
        set_state(object, 0);
        return STATUS_SUCCESS;
    case semaphore_object:
        add_to_state(object, -1);
        return STATUS_SUCCESS;
    case mutant_object: {
        auto& mutex = reinterpret_cast<KMUTANT&>(object);
        if (add_to_state(object, -1) == 0) {
            __atomic_store_n(&mutex.OwnerThread, thread, __ATOMIC_RELAXED);
            InsertTailList(&thread->MutantListHead, &mutex.MutantListEntry);
        }
        const bool abandoned = mutex.Abandoned != 0;
        mutex.Abandoned = 0;
        return abandoned ? STATUS_ABANDONED_WAIT_0 : STATUS_SUCCESS;
    }
    default:
        return STATUS_SUCCESS;
    }
}

bool can_acquire_all(const wait_state& waiter) {
    for (ULONG i = 0; i < waiter.count; ++i)
        if (!can_acquire(*waiter.blocks[i].Object, waiter.self->thread)) return false;
    return true;
}

NTSTATUS acquire_all(const wait_state& waiter) {
    NTSTATUS result = STATUS_SUCCESS;
    for (ULONG i = 0; i < waiter.count; ++i)
        if (acquire_object(*waiter.blocks[i].Object, waiter.self->thread) ==
            STATUS_ABANDONED_WAIT_0)
            result = STATUS_ABANDONED_WAIT_0;
    return result;
}

void unlink_blocks(const wait_state& waiter) {
    for (ULONG i = 0; i < waiter.count; ++i)
        RemoveEntryList(&waiter.blocks[i].WaitListEntry);
}

// True when the wait is satisfied before it begins.
bool acquired_at_once(wait_state& waiter) {
    if (waiter.all) {
        if (!can_acquire_all(waiter)) return false;
        waiter.result = acquire_all(waiter);
        return true;
    }
    for (ULONG i = 0; i < waiter.count; ++i) {
        if (!can_acquire(*waiter.blocks[i].Object, waiter.self->thread)) continue;
        waiter.result = acquire_object(*waiter.blocks[i].Object, waiter.self->thread) +
                        static_cast<NTSTATUS>(i);
        return true;
    }
    return false;
}

} // namespace

void wake_list::flush() {
    for (unsigned i = 0; i < count_; ++i)
        list_[i]->owner->unpark(*list_[i]);
    count_ = 0;
}

void complete_wait(wait_state& waiter, NTSTATUS result, wake_list& woken) {
    unlink_blocks(waiter);
    waiter.result = result;
    waiter.done = true;
    woken.add(*waiter.self);
}

void release_waiters(DISPATCHER_HEADER& object, wake_list& woken) {
    LIST_ENTRY* entry = object.WaitListHead.Flink;
    while (entry != &object.WaitListHead && state_of(object) > 0) {
        KWAIT_BLOCK& block = *CONTAINING_RECORD(entry, KWAIT_BLOCK, WaitListEntry);
        wait_state& waiter = *static_cast<wait_state*>(block.Waiter);
        entry = entry->Flink;
        if (waiter.all && !can_acquire_all(waiter)) continue;
        const NTSTATUS result = waiter.all ? acquire_all(waiter)
                                           : acquire_object(object, waiter.self->thread) +
                                                 static_cast<NTSTATUS>(block.WaitKey);
        // A wait that names one object twice has two blocks here; the loop restarts behind both.
        complete_wait(waiter, result, woken);
        if (waiter.count > 1) entry = object.WaitListHead.Flink;
    }
}

namespace {

// False: the time limit was reached.
bool park_until(processor& self, const time_limit& limit) {
    machine& owner = *self.owner;
    if (limit.system_time == 0) return owner.park(self, limit.machine_time);
    return owner.park(self, next_clock_check(owner, limit.system_time)) ||
           owner.system_time() < limit.system_time;
}

bool park_in_blocking_section(processor& self, const time_limit& limit) {
    const blocking_section place(self);
    return park_until(self, limit);
}

} // namespace

NTSTATUS block(wait_state& waiter, const time_limit& limit, std::unique_lock<process_spin>& guard) {
    for (ULONG i = 0; i < waiter.count; ++i) {
        KWAIT_BLOCK& each = waiter.blocks[i];
        each.Waiter = &waiter;
        each.WaitKey = i;
        InsertTailList(&each.Object->WaitListHead, &each.WaitListEntry);
    }
    const void* const object =
        waiter.count != 0 ? waiter.blocks[0].Object : nullptr; // none: a delay
    wake_list woken;
    queue_thread_blocked(*waiter.self, woken);
    while (!waiter.done) {
        guard.release()->unlock(point::wait, object);
        woken.flush();
        const bool in_time = park_in_blocking_section(*waiter.self, limit);
        guard = std::unique_lock(dispatcher_lock);
        if (!in_time && !waiter.done) {
            unlink_blocks(waiter);
            break;
        }
    }
    queue_thread_unblocked(*waiter.self);
    return waiter.result;
}

time_limit limit_of(processor& self, const LARGE_INTEGER* timeout) {
    if (timeout == nullptr) return {};
    const auto due = static_cast<std::uint64_t>(timeout->QuadPart);
    if (timeout->QuadPart > 0) return {no_deadline, due};
    return {self.owner->interrupt_time() + (0 - due)};
}

void require_wait_allowed(processor& self, const LARGE_INTEGER* timeout, const char* function) {
    const bool is_poll = timeout != nullptr && timeout->QuadPart == 0;
    if (self.irql < DISPATCH_LEVEL || (is_poll && self.irql == DISPATCH_LEVEL)) return;
    char text[120];
    std::snprintf(text, sizeof text,
                  "%s would wait at IRQL %u; waits are allowed below DISPATCH_LEVEL", function,
                  unsigned{self.irql});
    bug_check(ATTEMPTED_SWITCH_FROM_DPC, text, self.irql);
}

void require_waitable(const DISPATCHER_HEADER& object) {
    if (object.Type >= notification_event && object.Type < queue_object) return;
    bug_check(INVALID_DATA_ACCESS_TRAP,
              object.Type == queue_object
                  ? "a wait names a KQUEUE; KeRemoveQueue removes its entries"
                  : "a wait names what is no event, semaphore, mutex, timer or thread, or was not "
                    "initialised",
              reinterpret_cast<ULONG_PTR>(&object), object.Type);
}

void signal_timer(KTIMER& timer) {
    wake_list woken;
    const std::lock_guard guard(dispatcher_lock);
    set_state(timer.Header, 1);
    release_waiters(timer.Header, woken);
    // This must be the last write: a cancellation that reads it lets the owner free the timer.
    if (timer.Header.Periodic == 0) __atomic_store_n(&timer.Queue, nullptr, __ATOMIC_RELEASE);
    woken.flush();
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

namespace {

NTSTATUS wait(processor& self, ULONG count, KWAIT_BLOCK* blocks, bool all,
              const LARGE_INTEGER* timeout, const char* function) {
    require_wait_allowed(self, timeout, function);
    const time_limit limit = limit_of(self, timeout);
    wait_state waiter{&self, blocks, count, all};
    std::unique_lock guard(dispatcher_lock);
    if (acquired_at_once(waiter)) return waiter.result;
    if (timeout != nullptr && timeout->QuadPart == 0) return STATUS_TIMEOUT;
    return block(waiter, limit, guard);
}

[[gnu::noinline, gnu::cold]] NTSTATUS checked_wait(processor& self, ULONG count,
                                                   KWAIT_BLOCK* blocks, bool all,
                                                   const LARGE_INTEGER* timeout,
                                                   const char* function) {
    wait_checks checked(self, {blocks, count}, all, timeout);
    if (verifying()) checked.before(function);
    for (ULONG i = 0; i < count; ++i)
        require_waitable(*blocks[i].Object);
    sched_point(point::wait, blocks[0].Object);
    const NTSTATUS status = wait(self, count, blocks, all, timeout, function);
    if (verifying()) checked.after(status);
    return status;
}

// Changes an object's state under the lock, releases the threads whose waits it satisfies, and
// returns the old state.
template <class Change>
LONG change_state(DISPATCHER_HEADER& object, Change change) {
    sched_point(point::signal, &object);
    wake_list woken;
    LONG old = 0;
    {
        const std::lock_guard guard(dispatcher_lock);
        old = state_of(object);
        change(object);
        if (state_of(object) > 0) release_waiters(object, woken);
    }
    woken.flush();
    return old;
}

} // namespace

extern "C" {

void KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State) {
    initialize_header(Event->Header,
                      Type == NotificationEvent ? notification_event : synchronization_event,
                      State ? 1 : 0);
    name_object(Event, "event");
}

LONG KeSetEvent(PRKEVENT Event, KPRIORITY, BOOLEAN Wait) {
    VERIFY_IRQL(KeSetEvent);
    if (verifying()) notify_event_set(Event);
    if (Wait) {
        if (verifying()) check_event_wait(this_processor());
        require_wait_allowed(this_processor(), nullptr, "KeSetEvent with Wait");
    }
    return change_state(Event->Header, [](DISPATCHER_HEADER& object) { set_state(object, 1); });
}

LONG KeResetEvent(PRKEVENT Event) {
    VERIFY_IRQL(KeResetEvent);
    return change_state(Event->Header, [](DISPATCHER_HEADER& object) { set_state(object, 0); });
}

void KeClearEvent(PRKEVENT Event) {
    VERIFY_IRQL(KeClearEvent);
    change_state(Event->Header, [](DISPATCHER_HEADER& object) { set_state(object, 0); });
}

LONG KePulseEvent(PRKEVENT Event, KPRIORITY, BOOLEAN) {
    VERIFY_IRQL(KePulseEvent);
    sched_point(point::signal, Event);
    wake_list woken;
    LONG old = 0;
    {
        const std::lock_guard guard(dispatcher_lock);
        old = state_of(Event->Header);
        set_state(Event->Header, 1);
        release_waiters(Event->Header, woken);
        set_state(Event->Header, 0);
    }
    woken.flush();
    return old;
}

LONG KeReadStateEvent(PRKEVENT Event) {
    VERIFY_IRQL(KeReadStateEvent);
    return state_of(Event->Header);
}

void KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit) {
    VERIFY_IRQL(KeInitializeSemaphore);
    initialize_header(Semaphore->Header, semaphore_object, Count);
    Semaphore->Limit = Limit;
    name_object(Semaphore, "semaphore");
}

LONG KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY, LONG Adjustment, BOOLEAN) {
    VERIFY_IRQL(KeReleaseSemaphore);
    bool beyond = false;
    const LONG old = change_state(Semaphore->Header, [&](DISPATCHER_HEADER& object) {
        beyond = Adjustment <= 0 || Adjustment > Semaphore->Limit - state_of(object);
        if (!beyond) add_to_state(object, Adjustment);
    });
    if (beyond)
        bug_check(KERNEL_SECURITY_CHECK_FAILURE, "a semaphore is released beyond its limit",
                  reinterpret_cast<ULONG_PTR>(Semaphore), static_cast<ULONG_PTR>(Adjustment));
    return old;
}

LONG KeReadStateSemaphore(PRKSEMAPHORE Semaphore) { return state_of(Semaphore->Header); }

void KeInitializeMutex(PRKMUTEX Mutex, ULONG) {
    if (instrumented()) register_lock(Mutex, "mutex");
    initialize_header(Mutex->Header, mutant_object, 1);
    Mutex->OwnerThread = nullptr;
    Mutex->Abandoned = 0;
}

LONG KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN) {
    VERIFY_IRQL(KeReleaseMutex);
    if (verifying()) mutex_released(this_processor(), *Mutex);
    bool not_owner = false;
    const KTHREAD* caller = KeGetCurrentThread();
    const LONG old = change_state(Mutex->Header, [&](DISPATCHER_HEADER& object) {
        not_owner = Mutex->OwnerThread != caller;
        if (not_owner || add_to_state(object, 1) != 1) return;
        __atomic_store_n(&Mutex->OwnerThread, nullptr, __ATOMIC_RELAXED);
        RemoveEntryList(&Mutex->MutantListEntry);
    });
    if (not_owner)
        bug_check(THREAD_NOT_MUTEX_OWNER, "a mutex is released by a thread that does not own it",
                  reinterpret_cast<ULONG_PTR>(Mutex));
    return old;
}

LONG KeReadStateMutex(PRKMUTEX Mutex) { return state_of(Mutex->Header); }

NTSTATUS KeWaitForSingleObject(PVOID Object, KWAIT_REASON, KPROCESSOR_MODE, BOOLEAN,
                               PLARGE_INTEGER Timeout) {
    static constexpr const char* name = "KeWaitForSingleObject";
    processor& self = this_processor();
    KWAIT_BLOCK only{};
    only.Object = static_cast<DISPATCHER_HEADER*>(Object);
    if (instrumented()) return checked_wait(self, 1, &only, false, Timeout, name);
    require_waitable(*only.Object);
    return wait(self, 1, &only, false, Timeout, name);
}

NTSTATUS KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType, KWAIT_REASON,
                                  KPROCESSOR_MODE, BOOLEAN, PLARGE_INTEGER Timeout,
                                  PKWAIT_BLOCK WaitBlockArray) {
    static constexpr const char* name = "KeWaitForMultipleObjects";
    processor& self = this_processor();
    KWAIT_BLOCK few[THREAD_WAIT_OBJECTS];
    if (Count == 0 || Count > MAXIMUM_WAIT_OBJECTS ||
        (Count > THREAD_WAIT_OBJECTS && WaitBlockArray == nullptr))
        return STATUS_INVALID_PARAMETER;
    KWAIT_BLOCK* blocks = WaitBlockArray != nullptr ? WaitBlockArray : few;
    for (ULONG i = 0; i < Count; ++i) {
        blocks[i].Object = static_cast<DISPATCHER_HEADER*>(Object[i]);
        require_waitable(*blocks[i].Object);
    }
    const bool all = WaitType == WaitAll;
    if (instrumented()) return checked_wait(self, Count, blocks, all, Timeout, name);
    return wait(self, Count, blocks, all, Timeout, name);
}

NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE, BOOLEAN, PLARGE_INTEGER Interval) {
    processor& self = this_processor();
    if (verifying()) {
        check_irql(irql_rules::KeDelayExecutionThread);
        check_wait_with_locks(self, "KeDelayExecutionThread");
    }
    require_wait_allowed(self, nullptr, "KeDelayExecutionThread");
    sched_point(point::wait);
    // A wait for no object; a thread that serves a KQUEUE lets another one work for that time.
    wait_state waiter{&self, nullptr, 0, false};
    std::unique_lock guard(dispatcher_lock);
    block(waiter, limit_of(self, Interval), guard);
    return STATUS_SUCCESS;
}

} // extern "C"
