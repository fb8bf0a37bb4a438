/* The verifier: finds broken IRP and IRQL rules while a program runs, in debug and in release
   builds, on real threads and in the simulator. */
#ifndef IRPVERBS_IRP_VERIFIER_H
#define IRPVERBS_IRP_VERIFIER_H

#include <dispatch/bugcheck.h>
#include <dispatch/ntstatus.h>
#include <irp/device.h>
#include <irp/irp.h>

NT_EXTERN_C_BEGIN

/* Switches the verifier. Options: words with commas between them; a word turns a check on, "-word"
   off, "name=value" sets a knob; "" is everything off, "default" every check that only looks.
     default = irql locks deadlocks pool watchdog io lifetime cancel remove_locks
     lock_initialisation release_order             (stricter than much right code)
     log trace                                     (records, see VerifierDumpLog)
     force_pending low_resources delays            (these change what happens)
     pended_completed=allow|warn|fail  low_resources=chance|stacks  cancel_limit_ms=N
     force_pending_percent=N  trace_limit=N  dpc_limit_ms=N  raised_limit_ms=N
     strict_sdv_irql  cancel_lock_required  lax_device_queue_irql
   docs/verifier-irp.md says what each does. What lived before the verifier was on is taken as it
   is. IRPVERBS_VERIFIER in the environment, when set, is applied when the first machine starts.
   IRQL: PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INVALID_PARAMETER for a word or value that is
   unknown, and nothing is changed: VerifierMessage tells which and what there is. */
NT_API NTSTATUS VerifierConfigure(const CHAR* Options);

/* Why the calling thread's last VerifierConfigure failed, "" when it did not. Valid until its next
   call. */
NT_API const CHAR* VerifierMessage(void) NT_NOEXCEPT;

/* Told of each broken rule before the bug-check handler. TRUE: dealt with, the program goes on;
   FALSE: on to the handler. On the thread that broke the rule, at its IRQL. May throw (C++). */
typedef BOOLEAN (*VERIFIER_CALLBACK)(const BUG_CHECK_REPORT* Report, PVOID Context);
NT_API VERIFIER_CALLBACK VerifierSetCallback(VERIFIER_CALLBACK Callback, PVOID Context) NT_NOEXCEPT;

typedef struct _VERIFIER_COUNTERS {
    ULONG64 Findings;
    ULONG64 IrpsTracked;     /* allocated or first seen */
    ULONG64 IrpsOutstanding; /* sent and not completed */
    ULONG64 Calls;           /* IoCallDriver */
    ULONG64 Completions;     /* IoCompleteRequest */
    ULONG64 Cancels;         /* IoCancelIrp */
    ULONG64 ForcedPending;   /* requests that were made to pend */
    ULONG64 FaultsInjected;  /* allocations and the like that were made to fail */
    ULONG64 Warnings;        /* what a setting says to count only: pended_completed=warn */
} VERIFIER_COUNTERS;
NT_API void VerifierQueryCounters(VERIFIER_COUNTERS* Counters);

/* Asks of the calling thread's machine that nothing is left: IRPs that were never completed or
   never freed, references, remove locks, tagged memory, work items. A finding each. Gives back how
   many. IRQL: PASSIVE_LEVEL. */
NT_API ULONG VerifierCheckQuiescence(void);

/* The last requests of a device, or with NULL of all devices, a line an event, as text;
   NUL-terminated, at most Size bytes; gives back the length it needs, as snprintf does. Recorded
   while "log" (a ring a device) or "trace" (all; the last trace_limit) is on. */
NT_API SIZE_T VerifierDumpLog(PDEVICE_OBJECT DeviceObject, CHAR* Buffer, SIZE_T Size);

/* Declares that the IRPs which wait in DeviceObject are in its device queue, and so no cancel
   routine is set on one without the cancel spin lock (FALSE: in a queue of the driver's own, as it
   is unless declared). For this configuration of the verifier. cancel_lock_required declares it of
   all devices. IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void VerifierRequireCancelLock(PDEVICE_OBJECT DeviceObject, BOOLEAN Required);

typedef void (*VERIFIER_SWEEP_ROUTINE)(PVOID Context);
typedef struct _VERIFIER_SWEEP {
    ULONG64 Runs;   /* the one without a failure included */
    ULONG64 Stacks; /* distinct call stacks that ask for resources */
    ULONG64 Pairs;  /* runs with two failures planned */
} VERIFIER_SWEEP;

/* Systematic low resources: calls Routine until each distinct call stack that asks for resources
   has failed once, and then, with Pairs, each pair of them. Each run must do the same but for the
   failures. On the calling thread's machine; needs no option. For a program that can't be run again
   and again, low_resources=stacks fails each stack once, where it is first seen. IRQL:
   PASSIVE_LEVEL. Ours; see dispatch/fault_sweep.hpp. */
NT_API void VerifierSweepLowResources(VERIFIER_SWEEP_ROUTINE Routine, PVOID Context, BOOLEAN Pairs,
                                      VERIFIER_SWEEP* Summary);

NT_EXTERN_C_END

#endif
