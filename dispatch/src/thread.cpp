#include "machine_state.hpp"
#include "rules.hpp"
#include "verify/routine_checks.hpp"
#include "waiting.hpp"

#include <dispatch/detail/faults.hpp>
#include <dispatch/thread.h>

#include <new>

namespace irpverbs::dispatch::detail {
namespace {

struct thread_exit {
    NTSTATUS status;
};

void drop_reference(KTHREAD* thread) {
    if (__atomic_sub_fetch(&thread->ReferenceCount, 1, __ATOMIC_ACQ_REL) == 0) delete thread;
}

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
    initialize_header(thread->Header, thread_object, 0);
    InitializeListHead(&thread->MutantListHead);
    InitializeListHead(&thread->IrpListHead);
    thread->ReferenceCount = 1;
    thread->Machine = &owner;
    return thread;
}

void system_thread_main(void* context) {
    auto* thread = static_cast<KTHREAD*>(context);
    machine_state& state = static_cast<machine*>(thread->Machine)->state();
    processor& self = state.admit();
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
    state.dismiss(self);
    current = nullptr;
    state.system_threads.fetch_sub(1);
    state.tell_stopper();
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
        const std::lock_guard guard(dispatcher_lock);
        stop_serving(self, woken);
        abandon_mutexes(*thread, woken);
        set_state(thread->Header, 1);
        release_waiters(thread->Header, woken);
        thread->Processor = nullptr;
    }
    woken.flush();
    self.thread = nullptr;
    drop_reference(thread);
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch;
using namespace irpverbs::dispatch::detail;

extern "C" {

PKTHREAD KeGetCurrentThread(void) { return this_processor().thread; }

NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG, PVOID, HANDLE, PVOID,
                              PKSTART_ROUTINE StartRoutine, PVOID StartContext) {
    VERIFY_IRQL(PsCreateSystemThread);
    machine& owner = *this_processor().owner;
    KTHREAD* thread = fault_point("thread.create") ? nullptr : make_thread(owner);
    if (thread == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    thread->ReferenceCount = 2; // the thread's own and the handle's
    thread->StartRoutine = reinterpret_cast<PVOID>(StartRoutine);
    thread->StartContext = StartContext;
    owner.state().system_threads.fetch_add(1);
    if (!owner.start_thread(-1, system_thread_main, thread)) {
        owner.state().system_threads.fetch_sub(1);
        delete thread;
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *ThreadHandle = thread;
    return STATUS_SUCCESS;
}

NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus) {
    VERIFY_IRQL(PsTerminateSystemThread);
    if (KeGetCurrentThread()->StartRoutine == nullptr) return STATUS_INVALID_PARAMETER;
    throw thread_exit{ExitStatus};
}

NTSTATUS ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK, PVOID, KPROCESSOR_MODE,
                                   PVOID* Object, PVOID) {
    VERIFY_IRQL(ObReferenceObjectByHandle);
    auto* thread = static_cast<KTHREAD*>(Handle);
    if (thread == nullptr || thread->Header.Type != thread_object) return STATUS_INVALID_HANDLE;
    ObReferenceObject(thread);
    *Object = thread;
    return STATUS_SUCCESS;
}

void ObReferenceObject(PVOID Object) {
    VERIFY_IRQL(ObReferenceObject);
    __atomic_add_fetch(&static_cast<KTHREAD*>(Object)->ReferenceCount, 1, __ATOMIC_RELAXED);
}

void ObDereferenceObject(PVOID Object) {
    VERIFY_IRQL(ObDereferenceObject);
    drop_reference(static_cast<KTHREAD*>(Object));
}

NTSTATUS ZwClose(HANDLE Handle) {
    VERIFY_IRQL(ZwClose);
    auto* thread = static_cast<KTHREAD*>(Handle);
    if (thread == nullptr || thread->Header.Type != thread_object) return STATUS_INVALID_HANDLE;
    drop_reference(thread);
    return STATUS_SUCCESS;
}

} // extern "C"
