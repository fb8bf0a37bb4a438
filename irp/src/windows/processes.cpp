// One process, the system's, to which all threads belong.
#include "standard.hpp"

#include <dispatch/support/locals.hpp>
#include <dispatch/support/object.hpp>
#include <irp/irp.h>
#include <unistd.h>
#include <windows/wdk/io.h>
#include <windows/wdk/processes.h>

namespace {

using irpverbs::dispatch::detail::processor_local;
using irpverbs::dispatch::detail::this_processor;

/* False: the process keeps its own reference for ever. */
bool ends(OBJECT_HEADER&) { return false; }

constexpr _OBJECT_TYPE process_type{"process", irpverbs::dispatch::detail::process_object_type,
                                    ends, nullptr};

OBJECT_HEADER& process() {
    static OBJECT_HEADER& object = []() -> OBJECT_HEADER& {
        static OBJECT_HEADER made{};
        irpverbs::dispatch::detail::initialize_object(made, process_type);
        return made;
    }();
    return object;
}

PEPROCESS the_process() { return reinterpret_cast<PEPROCESS>(&process()); }

struct thread_state {
    PIRP top_level;
};
IRPVERBS_REGISTERED_EARLY const processor_local<thread_state> thread_states;

thread_state& current_thread() { return thread_states.of(this_processor()); }

} // namespace

extern "C" {

HANDLE PsGetCurrentProcessId(void) {
    return reinterpret_cast<HANDLE>(static_cast<ULONG_PTR>(getpid()));
}
HANDLE PsGetProcessId(PEPROCESS) { return PsGetCurrentProcessId(); }
HANDLE PsGetThreadProcessId(PETHREAD) { return PsGetCurrentProcessId(); }
HANDLE PsGetThreadId(PETHREAD Thread) { return Thread; }
HANDLE PsGetCurrentThreadId(void) { return PsGetThreadId(PsGetCurrentThread()); }

PEPROCESS PsGetCurrentProcess(void) { return the_process(); }
PEPROCESS PsGetThreadProcess(PETHREAD) { return the_process(); }
PEPROCESS IoThreadToProcess(PETHREAD) { return the_process(); }
PEPROCESS IoGetRequestorProcess(PIRP) { return the_process(); }
ULONG IoGetRequestorProcessId(PIRP) { return static_cast<ULONG>(getpid()); }
NTSTATUS IoGetRequestorSessionId(PIRP, PULONG SessionId) {
    *SessionId = 0;
    return STATUS_SUCCESS;
}
ULONG PsGetCurrentProcessSessionId(void) { return 0; }

BOOLEAN PsIsSystemThread(PETHREAD) { return TRUE; }
BOOLEAN IoIsSystemThread(PETHREAD) { return TRUE; }
BOOLEAN PsIsSystemProcess(PEPROCESS) { return TRUE; }

NTSTATUS PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS* Process) {
    if (ProcessId != PsGetCurrentProcessId()) return STATUS_INVALID_PARAMETER;
    ObReferenceObject(&process());
    *Process = the_process();
    return STATUS_SUCCESS;
}

void KeStackAttachProcess(PRKPROCESS, PRKAPC_STATE) {}
void KeUnstackDetachProcess(PRKAPC_STATE) {}
void KeAttachProcess(PRKPROCESS) {}
void KeDetachProcess(void) {}

void PsChargePoolQuota(PEPROCESS, POOL_TYPE, ULONG_PTR) {}
void PsReturnPoolQuota(PEPROCESS, POOL_TYPE, ULONG_PTR) {}

PIRP IoGetTopLevelIrp(void) { return current_thread().top_level; }
void IoSetTopLevelIrp(PIRP Irp) { current_thread().top_level = Irp; }

NTSTATUS IoCreateSystemThread(PVOID, PHANDLE ThreadHandle, ULONG DesiredAccess,
                              POBJECT_ATTRIBUTES ObjectAttributes, HANDLE ProcessHandle,
                              PCLIENT_ID ClientId, PKSTART_ROUTINE StartRoutine,
                              PVOID StartContext) {
    return PsCreateSystemThread(ThreadHandle, DesiredAccess, ObjectAttributes, ProcessHandle,
                                ClientId, StartRoutine, StartContext);
}

} // extern "C"
