/* The verifier: finds broken IRP and IRQL rules while a program runs, in debug and in release
   builds, on real threads and in the simulator. */
#ifndef IRPVERBS_IRP_VERIFIER_H
#define IRPVERBS_IRP_VERIFIER_H

#include <dispatch/bugcheck.h>
#include <dispatch/ntstatus.h>
#include <irp/device.h>
#include <irp/irp.h>

NT_EXTERN_C_BEGIN

/* Configures the verifier. Options: words with commas between them; a word turns a check on,
   "-word" off, "name=value" sets a knob; "" is everything off, "default" every check that only
   observes.
     default = irql locks deadlocks pool watchdog io lifetime cancel remove_locks
     lock_initialisation release_order             (stricter than much correct code)
     log trace                                     (records, see VerifierDumpLog)
     force_pending low_resources delays            (these change the behaviour of a run)
     pended_completed=allow|warn|fail  low_resources=chance|stacks  cancel_limit_ms=N
     force_pending_percent=N  trace_limit=N  dpc_limit_ms=N  raised_limit_ms=N
     strict_sdv_irql  cancel_lock_required  lax_device_queue_irql
   docs/verifier-irp.md describes each word. Objects older than the verifier are accepted as they
   are. IRPVERBS_VERIFIER in the environment, when set, is applied when the first machine starts.
   IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_PARAMETER for an unknown word or value:
   nothing is changed, and VerifierMessage names the unknown word and lists the known ones. */
NT_API NTSTATUS VerifierConfigure(const CHAR* Options);

/* The reason why the calling thread's last VerifierConfigure failed, "" when it succeeded. Valid
   until the thread's next call. */
NT_API const CHAR* VerifierMessage(void) NT_NOEXCEPT;

/* Called for each broken rule before the bug-check handler, on the thread that broke the rule, at
   its IRQL. TRUE: the callback handled the finding and the program continues; FALSE: the handler is
   called. May throw (C++). */
typedef BOOLEAN (*VERIFIER_CALLBACK)(const BUG_CHECK_REPORT* Report, PVOID Context);
NT_API VERIFIER_CALLBACK VerifierSetCallback(VERIFIER_CALLBACK Callback, PVOID Context) NT_NOEXCEPT;

typedef struct _VERIFIER_COUNTERS {
    ULONG64 Findings;
    ULONG64 IrpsTracked;     /* allocated or first seen */
    ULONG64 IrpsOutstanding; /* sent and not completed */
    ULONG64 Calls;           /* IoCallDriver */
    ULONG64 Completions;     /* IoCompleteRequest */
    ULONG64 Cancels;         /* IoCancelIrp */
    ULONG64 ForcedPending;   /* requests that the verifier made pend */
    ULONG64 FaultsInjected;  /* allocations and other calls that the verifier made fail */
    ULONG64 Warnings;        /* findings that a setting only counts: pended_completed=warn */
} VERIFIER_COUNTERS;
NT_API void VerifierQueryCounters(VERIFIER_COUNTERS* Counters);

/* Checks that the calling thread's machine has no leftovers: IRPs that were never completed or
   never freed, references, remove locks, tagged memory, work items. Emits a finding for each and
   returns their number. IRQL: PASSIVE_LEVEL. */
NT_API ULONG VerifierCheckQuiescence(void);

/* Writes the last requests of a device (NULL: of all devices) as text, one line per event,
   NUL-terminated, at most Size bytes. Returns the length that the whole text needs, as snprintf
   does. Events are recorded while "log" (a ring per device) or "trace" (all; the last trace_limit)
   is on. */
NT_API SIZE_T VerifierDumpLog(PDEVICE_OBJECT DeviceObject, CHAR* Buffer, SIZE_T Size);

/* Declares whether DeviceObject keeps waiting IRPs in its device queue, so that IoSetCancelRoutine
   needs the cancel spin lock. FALSE, the default: the IRPs wait in a queue of the driver's own. The
   declaration lasts until the next VerifierConfigure. cancel_lock_required declares it for all
   devices. IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void VerifierRequireCancelLock(PDEVICE_OBJECT DeviceObject, BOOLEAN Required);

typedef void (*VERIFIER_SWEEP_ROUTINE)(PVOID Context);
typedef struct _VERIFIER_SWEEP {
    ULONG64 Runs;   /* including the run without a failure */
    ULONG64 Stacks; /* distinct call stacks that request resources */
    ULONG64 Pairs;  /* runs with two failures planned */
} VERIFIER_SWEEP;

/* Systematic low resources: calls Routine until each distinct call stack that requests resources
   has failed once, and then, with Pairs, each pair of them. All runs must be equal except for the
   failures. Runs on the calling thread's machine; needs no option. In a program that cannot be run
   repeatedly, low_resources=stacks fails each stack once, at its first occurrence. IRQL:
   PASSIVE_LEVEL. Ours; see dispatch/testing/fault_sweep.hpp. */
NT_API void VerifierSweepLowResources(VERIFIER_SWEEP_ROUTINE Routine, PVOID Context, BOOLEAN Pairs,
                                      VERIFIER_SWEEP* Summary);

NT_EXTERN_C_END

#endif
