/* Exploration from C: runs a small program of several threads and drivers under many schedules,
   with the verifier on, and reports the first failure with the line that repeats it.
   dispatch/testing/explore.hpp has the rules for the program. */
#ifndef IRPVERBS_IRP_TESTING_EXPLORE_H
#define IRPVERBS_IRP_TESTING_EXPLORE_H

#include <dispatch/ntstatus.h>

NT_EXTERN_C_BEGIN

typedef struct _IRP_EXPLORE_OPTIONS {
    ULONG Size;    /* sizeof(IRP_EXPLORE_OPTIONS) */
    ULONG Seconds; /* the time of the campaign, unless one of the next three is not 0 */
    ULONG64 RandomRuns;
    ULONG64 PctRuns;
    ULONG64 ExhaustiveRuns; /* at most so many schedules of a search of all */
    ULONG64 FirstSeed;
    BOOLEAN OwnProcess;     /* TRUE: in child processes, where a crash is a failure like others */
    BOOLEAN Faults;         /* TRUE: allocations and other calls fail by chance */
    const CHAR* Verifier;   /* NULL: what IRPVERBS_VERIFIER names, or else "default" */
    const CHAR* RunCommand; /* NULL, or the text that follows the replay line */
} IRP_EXPLORE_OPTIONS, *PIRP_EXPLORE_OPTIONS;

#define IRP_EXPLORE_ANY_NUMBER 0xFFFFFFFFu

typedef struct _IRP_EXPLORE_SUMMARY {
    ULONG64 Runs;
    ULONG64 Failures;  /* 1 at most: the campaign ends at the first */
    BOOLEAN Exhausted; /* every schedule was run; in a campaign by time, only those with at most
                          Preemptions of them */
    ULONG Preemptions; /* IRP_EXPLORE_ANY_NUMBER, where there was no limit */
} IRP_EXPLORE_SUMMARY, *PIRP_EXPLORE_SUMMARY;

typedef void IRP_EXPLORE_ROUTINE(PVOID Context);
typedef IRP_EXPLORE_ROUTINE* PIRP_EXPLORE_ROUTINE;

/* Sets the defaults: five seconds, in the calling process. */
NT_API void IrpExploreInitialize(PIRP_EXPLORE_OPTIONS Options) NT_NOEXCEPT;

/* Calls Body once a schedule, on a thread of a fresh simulated machine. Body builds its world,
   calls IrpExploreSpawn and IrpExploreRun, and checks the results. The variables IRPVERBS_SEED,
   IRPVERBS_STRATEGY and IRPVERBS_SEEDS override the options. Options: NULL is the defaults.
   Summary: NULL, or receives the counts. Report: NULL, or receives the text of the failure, or of
   the counts after a success, NUL-terminated and cut to Size bytes. Ownership: the caller's. IRQL:
   any thread outside of machines. STATUS_SUCCESS: at least one run was made, and none failed;
   STATUS_UNSUCCESSFUL: a run failed; STATUS_INVALID_PARAMETER: a wrong option or variable, which
   Report names; STATUS_INSUFFICIENT_RESOURCES. Ours. */
NT_API NTSTATUS IrpExplore(const IRP_EXPLORE_OPTIONS* Options, PIRP_EXPLORE_ROUTINE Body,
                           PVOID Context, PIRP_EXPLORE_SUMMARY Summary, CHAR* Report, SIZE_T Size);

/* Adds a thread that calls Routine, from Body before IrpExploreRun, or from a thread of the run.
   Name: for reports; it is copied. IRQL: PASSIVE_LEVEL. Ours. */
NT_API void IrpExploreSpawn(const CHAR* Name, PIRP_EXPLORE_ROUTINE Routine, PVOID Context);

/* Runs the threads until they and all DPCs, work items and timers have ended. Does not return from
   a run that fails. IRQL: PASSIVE_LEVEL. Ours. */
NT_API void IrpExploreRun(void);

/* Fails the run with that text, which is copied; the first text counts. Body returns afterwards.
   IRQL: PASSIVE_LEVEL. Ours. */
NT_API void IrpExploreFail(const CHAR* Text);

NT_EXTERN_C_END

#endif
