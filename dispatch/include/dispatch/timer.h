/* Timers and the machine's clock. Times are in units of 100 ns, periods in milliseconds. */
#ifndef IRPVERBS_DISPATCH_TIMER_H
#define IRPVERBS_DISPATCH_TIMER_H

#include <dispatch/dpc.h>
#include <dispatch/wait.h>

NT_EXTERN_C_BEGIN

typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;

/* The fields are the library's; only the size is public. */
typedef struct _KTIMER {
    DISPATCHER_HEADER Header;
    LIST_ENTRY TimerListEntry;
    ULONGLONG DueTime; /* tick of the wheel, in machine time or system time */
    PKDPC Dpc;
    PVOID Queue; /* the timer service that holds the timer; NULL: not set */
    /* Fields of periodic timers only, at the end, so that other timers stay within a cache line: */
    ULONG Period;    /* ms */
    ULONG RoundedUp; /* units of 100 ns by which DueTime is later than requested */
} KTIMER, *PKTIMER;

/* Initializes a timer as unsignalled and not set. Ownership: the caller keeps the memory, and must
   cancel the timer before freeing it. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeInitializeTimer(Ex). */
NT_API void KeInitializeTimer(PKTIMER Timer);
NT_API void KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type);

/* Sets the timer and replaces an earlier setting. At DueTime the timer is signalled and Dpc is
   queued. TRUE: the timer was set already. A timer that is set when its machine ends becomes not
   set. IRQL: <= DISPATCH_LEVEL. Units: DueTime is in units of 100 ns. A negative DueTime is machine
   time from now. A positive DueTime is a system time: when the computer's clock is set, the timer
   follows it within a second, and never expires before DueTime. Period is in ms of machine time; 0:
   the timer expires once. Source: WDK KeSetTimer(Ex). */
NT_API BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc);
NT_API BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc);

/* Cancels the timer. TRUE: the timer was set and will not expire. FALSE: the timer was not set; its
   DPC may be queued or running (KeRemoveQueueDpc, KeFlushQueuedDpcs). IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeCancelTimer. */
NT_API BOOLEAN KeCancelTimer(PKTIMER Timer);

/* Returns TRUE when the timer is signalled. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeReadStateTimer. */
NT_API BOOLEAN KeReadStateTimer(PKTIMER Timer);

/* Returns the machine time since the machine started. IRQL: any. Source: WDK
   KeQueryInterruptTime. */
NT_API ULONGLONG KeQueryInterruptTime(void);

/* Stores the system time, which is the time of the computer's clock in units of 100 ns since
   1601-01-01 UTC. The system time goes back when the clock is set back. In the simulator it is a
   fixed start plus machine time until sim_machine::set_system_time sets it. IRQL: any. Source: WDK
   KeQuerySystemTime. */
NT_API void KeQuerySystemTime(PLARGE_INTEGER CurrentTime);

/* Stores the machine time in ticks of KeQueryTimeIncrement. IRQL: any. Source: WDK
   KeQueryTickCount. */
NT_API void KeQueryTickCount(PLARGE_INTEGER TickCount);

/* Returns the length of a tick in units of 100 ns. IRQL: any. Source: WDK KeQueryTimeIncrement. */
NT_API ULONG KeQueryTimeIncrement(void);

/* Returns the machine time as a counter, and stores its frequency in Hz unless PerformanceFrequency
   is NULL. IRQL: any. Source: WDK KeQueryPerformanceCounter. */
NT_API LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency);

/* Spins for at least MicroSeconds of machine time. IRQL: any. Source: WDK
   KeStallExecutionProcessor. */
NT_API void KeStallExecutionProcessor(ULONG MicroSeconds);

NT_EXTERN_C_END

#endif
