/* Timers and the machine's clock. Units of 100 ns; periods in milliseconds. */
#ifndef IRPVERBS_DISPATCH_TIMER_H
#define IRPVERBS_DISPATCH_TIMER_H

#include <dispatch/dpc.h>
#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;

/* Opaque but for its size. */
typedef struct _KTIMER {
    DISPATCHER_HEADER Header;
    LIST_ENTRY TimerListEntry;
    ULONGLONG DueTime; /* tick of the wheel: of machine time, or of system time */
    PKDPC Dpc;
    PVOID Queue; /* the timers that it is among; NULL: not set */
    /* Only of periodic ones, so that others stay within a cache line: */
    ULONG Period;    /* ms */
    ULONG RoundedUp; /* units of 100 ns by which DueTime is later than asked */
} KTIMER, *PKTIMER;

/* Prepares a timer, unsignalled and not set. Ownership: the caller keeps the memory, and must
   cancel before freeing. IRQL: <= DISPATCH_LEVEL. Source: WDK KeInitializeTimer(Ex). */
NT_API void KeInitializeTimer(PKTIMER Timer);
NT_API void KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type);

/* Sets the timer, replacing an earlier setting; at DueTime it is signalled and Dpc is queued.
   DueTime in units of 100 ns: negative is machine time from now; positive is a system time, and the
   timer follows the computer's clock when that is set (within a second; never before DueTime).
   Period in ms of machine time, 0 for once. TRUE: it was set already. A timer that is set when its
   machine ends is not set any more. IRQL: <= DISPATCH_LEVEL. Source: WDK KeSetTimer(Ex). */
NT_API BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc);
NT_API BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc);

/* TRUE: it was set and will not expire. FALSE: it was not set; its DPC may be queued or running
   (KeRemoveQueueDpc, KeFlushQueuedDpcs). IRQL: <= DISPATCH_LEVEL. Source: WDK KeCancelTimer. */
NT_API BOOLEAN KeCancelTimer(PKTIMER Timer);

/* TRUE when signalled. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateTimer. */
NT_API BOOLEAN KeReadStateTimer(PKTIMER Timer);

/* Machine time since the machine started. IRQL: any. Source: WDK KeQueryInterruptTime. */
NT_API ULONGLONG KeQueryInterruptTime(void);

/* System time, what the computer's clock shows: units of 100 ns since 1601-01-01 UTC. Goes back
   when the clock is set back. In the simulator a fixed start plus machine time, until it is set
   (sim_machine::set_system_time). IRQL: any. Source: WDK KeQuerySystemTime. */
NT_API void KeQuerySystemTime(PLARGE_INTEGER CurrentTime);

/* Machine time in ticks of KeQueryTimeIncrement. IRQL: any. Source: WDK KeQueryTickCount. */
NT_API void KeQueryTickCount(PLARGE_INTEGER TickCount);

/* One tick in units of 100 ns. IRQL: any. Source: WDK KeQueryTimeIncrement. */
NT_API ULONG KeQueryTimeIncrement(void);

/* Machine time as a counter with its frequency in Hz (NULL: not wanted). IRQL: any.
   Source: WDK KeQueryPerformanceCounter. */
NT_API LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency);

/* Spins for at least MicroSeconds of machine time. IRQL: any. Source: WDK
 * KeStallExecutionProcessor. */
NT_API void KeStallExecutionProcessor(ULONG MicroSeconds);

NT_EXTERN_C_END

#endif
