#include "irql/irql_rules.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"
#include "wait/waiting.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/object.hpp>
#include <dispatch/thread.h>

#include <new>

namespace irpverbs::dispatch::detail {
namespace {

struct thread_exit {
    NTSTATUS status;
};

KTHREAD& thread_of(OBJECT_HEADER& object) { return *CONTAINING_RECORD(&object, KTHREAD, Header); }

// A thread that has not ended keeps a reference of its own.
bool destroy_thread(OBJECT_HEADER& object) {
    if (state_of(object.Dispatcher) == 0) return false;
    delete &thread_of(object);
    return true;
}

DISPATCHER_HEADER* dispatcher_of_thread(OBJECT_HEADER& object) { return &object.Dispatcher; }

constexpr OBJECT_TYPE thread_type{"thread", thread_object, destroy_thread,
                                  nullptr,  nullptr,       dispatcher_of_thread};
POBJECT_TYPE thread_type_pointer = const_cast<POBJECT_TYPE>(&thread_type);

void abandon_mutexes(KTHREAD& thread, wake_list& woken) {
    while (!IsListEmpty(&thread.MutantListHead)) {
        KMUTANT& mutex =
            *CONTAINING_RECORD(RemoveHeadList(&thread.MutantListHead), KMUTANT, MutantListEntry);
        __atomic_store_n(&mutex.OwnerThread, nullptr, __ATOMIC_RELAXED);
        mutex.Abandoned = 1;
        set_state(mutex.Header, 1);
        release_waiters(mutex.Header, woken);
    }
}

KTHREAD* make_thread(machine& owner) {
    auto* thread = new (std::nothrow) KTHREAD{};
    if (thread == nullptr) return nullptr;
    initialize_object(thread->Header, thread_type);
    InitializeListHead(&thread->MutantListHead);
    thread->Machine = &owner;
    return thread;
}

void record_thread(processor& self, const KTHREAD& thread, std::uint64_t handle) {
    add_live_object(self, live_object_kind::thread, &thread, thread.StartRoutine);
    object_made(self, thread.Header);
    handle_opened(self, reinterpret_cast<HANDLE>(handle), &thread.Header);
}

void forget_thread(processor& self, const KTHREAD& thread, std::uint64_t handle) {
    remove_live_object(live_object_kind::thread, &thread);
    handle_closed(self, reinterpret_cast<HANDLE>(handle));
}

void system_thread_main(void* context) {
    auto* thread = static_cast<KTHREAD*>(context);
    machine_state& state = static_cast<machine*>(thread->Machine)->state();
    processor& self = state.attach();
    self.thread = thread;
    thread->Processor = &self;
    current = &self;
    try {
        reinterpret_cast<PKSTART_ROUTINE>(thread->StartRoutine)(thread->StartContext);
    } catch (const thread_exit& exit) {
        thread->ExitStatus = exit.status;
    }
    if (self.irql != PASSIVE_LEVEL)
        bug_check(IRQL_UNEXPECTED_VALUE, "a system thread ended above PASSIVE_LEVEL", self.irql,
                  PASSIVE_LEVEL);
    end_thread_object(self);
    state.detach(self);
    current = nullptr;
    state.system_threads.fetch_sub(1);
    state.wake_stopper();
}

} // namespace

KTHREAD* new_thread_object(processor& self) {
    KTHREAD* thread = make_thread(*self.owner);
    if (thread == nullptr) bug_check(MANUALLY_INITIATED_CRASH, "no memory for a thread object");
    thread->Processor = &self;
    return thread;
}

void end_thread_object(processor& self) {
    lower_irql(self, PASSIVE_LEVEL);
    KTHREAD* thread = self.thread;
    if (verifying()) thread_ends(self);
    wake_list woken;
    {
        const std::lock_guard guard(dispatcher_lock.without_point());
        dissociate_queue(self, woken);
        abandon_mutexes(*thread, woken);
        if (verifying()) remove_live_object(live_object_kind::thread, thread);
        set_state(thread->Header.Dispatcher, 1);
        release_waiters(thread->Header.Dispatcher, woken);
        thread->Processor = nullptr;
    }
    woken.flush();
    self.thread = nullptr;
    dereference_object(thread->Header);
}

void abandon_thread_object(KTHREAD& thread) {
    set_state(thread.Header.Dispatcher, 1);
    dereference_object(thread.Header);
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch;
using namespace irpverbs::dispatch::detail;

extern "C" {

POBJECT_TYPE* PsThreadType = &thread_type_pointer;

PKTHREAD KeGetCurrentThread(void) { return this_processor().thread; }

NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG, PVOID, HANDLE, PVOID,
                              PKSTART_ROUTINE StartRoutine, PVOID StartContext) {
    VERIFY_IRQL(PsCreateSystemThread);
    machine& owner = *this_processor().owner;
    machine_state& state = owner.state();
    KTHREAD* thread = fault_point("thread.create") ? nullptr : make_thread(owner);
    if (thread == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    thread->StartRoutine = reinterpret_cast<PVOID>(StartRoutine);
    thread->StartContext = StartContext;
    const std::uint64_t handle = state.handles.insert(object_reference(&thread->Header));
    state.system_threads.fetch_add(1);
    if (verifying()) record_thread(this_processor(), *thread, handle);
    if (handle == 0 || !owner.start_thread(-1, system_thread_main, thread)) {
        state.system_threads.fetch_sub(1);
        state.handles.remove(handle);
        if (verifying()) forget_thread(this_processor(), *thread, handle);
        abandon_thread_object(*thread);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *ThreadHandle = reinterpret_cast<HANDLE>(handle);
    return STATUS_SUCCESS;
}

NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus) {
    VERIFY_IRQL(PsTerminateSystemThread);
    if (KeGetCurrentThread()->StartRoutine == nullptr) return STATUS_INVALID_PARAMETER;
    throw thread_exit{ExitStatus};
}

} // extern "C"
