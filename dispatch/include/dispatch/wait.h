/* Dispatcher objects (events, semaphores, mutexes) and waits for them. Time is machine time, which
   is virtual in the simulator. Time-outs are in units of 100 ns. A negative time-out is relative to
   now. A positive one is an absolute system time: when the computer's clock is set, such a wait
   follows it within a second. */
#ifndef IRPVERBS_DISPATCH_WAIT_H
#define IRPVERBS_DISPATCH_WAIT_H

#include <dispatch/irql.h>
#include <dispatch/ntstatus.h>

NT_EXTERN_C_BEGIN

/* First member of every object that a thread can wait for. */
typedef struct _DISPATCHER_HEADER {
    UCHAR Type;
    UCHAR Signalling;
    UCHAR Abandoned; /* a KQUEUE that was run down */
    __extension__ union {
        UCHAR Periodic; /* a KTIMER with a period */
        UCHAR Counted;  /* an event of ZwCreateEvent, which begins an OBJECT_HEADER */
    };
    LONG SignalState;
    LIST_ENTRY WaitListHead;
} DISPATCHER_HEADER;

typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;
typedef enum _WAIT_TYPE { WaitAll, WaitAny } WAIT_TYPE;
typedef enum _KWAIT_REASON {
    Executive,
    FreePage,
    PageIn,
    PoolAllocation,
    DelayExecution,
    Suspended,
    UserRequest
} KWAIT_REASON;
typedef LONG KPRIORITY;
enum { IO_NO_INCREMENT = 0 };

typedef struct _KEVENT {
    DISPATCHER_HEADER Header;
} KEVENT, *PKEVENT, *PRKEVENT;

typedef struct _KSEMAPHORE {
    DISPATCHER_HEADER Header;
    LONG Limit;
} KSEMAPHORE, *PKSEMAPHORE, *PRKSEMAPHORE;

typedef struct _KMUTANT {
    DISPATCHER_HEADER Header;
    LIST_ENTRY MutantListEntry;
    struct _KTHREAD* OwnerThread;
    UCHAR Abandoned;
} KMUTANT, KMUTEX, *PKMUTEX, *PRKMUTEX;

#define THREAD_WAIT_OBJECTS 3
#define MAXIMUM_WAIT_OBJECTS 64

/* A thread's place in the list of waiters of one object. The fields are the library's; only the
   size is public. */
typedef struct _KWAIT_BLOCK {
    LIST_ENTRY WaitListEntry;
    DISPATCHER_HEADER* Object;
    PVOID Waiter;
    ULONG WaitKey;
} KWAIT_BLOCK, *PKWAIT_BLOCK;

/* Initializes an event in the given state. Ownership: the caller keeps the memory. IRQL: any.
   Source: WDK KeInitializeEvent. */
NT_API void KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State);

/* Signals the event and returns its old state. A notification event releases all waiters, a
   synchronization event one. IRQL: <= DISPATCH_LEVEL; <= APC_LEVEL with Wait. Source: WDK
   KeSetEvent. */
NT_API LONG KeSetEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait);

/* Makes the event unsignalled and returns its old state. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeResetEvent. */
NT_API LONG KeResetEvent(PRKEVENT Event);

/* Makes the event unsignalled. IRQL: <= DISPATCH_LEVEL. Source: WDK KeClearEvent. */
NT_API void KeClearEvent(PRKEVENT Event);

/* Releases the present waiters, leaves the event unsignalled and returns its old state. IRQL: <=
   DISPATCH_LEVEL. Source: WDK KePulseEvent. */
NT_API LONG KePulseEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait);

/* Returns the state of the event: 0 when it is unsignalled. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeReadStateEvent. */
NT_API LONG KeReadStateEvent(PRKEVENT Event);

/* Initializes a semaphore with a count between 0 and Limit. IRQL: PASSIVE_LEVEL. Source: WDK
   KeInitializeSemaphore. */
NT_API void KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit);

/* Adds Adjustment to the count and returns the old count. Bug check 0x139 when the new count
   exceeds Limit (Windows raises STATUS_SEMAPHORE_LIMIT_EXCEEDED). IRQL: <= DISPATCH_LEVEL. Source:
   WDK KeReleaseSemaphore. */
NT_API LONG KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY Increment, LONG Adjustment,
                               BOOLEAN Wait);

/* Returns the count of a semaphore, 0 when it is unsignalled. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeReadStateSemaphore. */
NT_API LONG KeReadStateSemaphore(PRKSEMAPHORE Semaphore);

/* Initializes a mutex as free. A mutex is owned by a thread, which may acquire it more than once.
   Level is ignored. IRQL: any. Source: WDK KeInitializeMutex. */
NT_API void KeInitializeMutex(PRKMUTEX Mutex, ULONG Level);

/* Releases the mutex once and returns the old signal state (0 when the mutex becomes free). Bug
   check 0x11 when the caller is not the owner. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeReleaseMutex. */
NT_API LONG KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN Wait);

/* Returns the signal state of a mutex: 1 when it is free, 0 when it is owned, less when its owner
   acquired it more than once. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateMutex. */
NT_API LONG KeReadStateMutex(PRKMUTEX Mutex);

/* Waits until Object (KEVENT, KSEMAPHORE, KMUTEX, KTIMER, KTHREAD) is signalled; bug check 0x04 for
   any other object. Timeout: NULL waits for ever; a time-out of 0 tests the object without waiting.
   IRQL: <= APC_LEVEL, or <= DISPATCH_LEVEL when the time-out is 0; else bug check 0xB8.
   STATUS_SUCCESS; STATUS_TIMEOUT; STATUS_ABANDONED_WAIT_0 for a mutex whose owner ended. Source:
   WDK KeWaitForSingleObject. */
NT_API NTSTATUS KeWaitForSingleObject(PVOID Object, KWAIT_REASON WaitReason,
                                      KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                      PLARGE_INTEGER Timeout);
#define KeWaitForMutexObject KeWaitForSingleObject

/* Waits for any of Count objects (STATUS_WAIT_0 + index), or for all of them (STATUS_SUCCESS; all
   are acquired together). A Count above THREAD_WAIT_OBJECTS needs a WaitBlockArray of Count blocks;
   a Count above MAXIMUM_WAIT_OBJECTS returns STATUS_INVALID_PARAMETER. IRQL and time-out: as for
   KeWaitForSingleObject. Source: WDK KeWaitForMultipleObjects. */
NT_API NTSTATUS KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType,
                                         KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
                                         BOOLEAN Alertable, PLARGE_INTEGER Timeout,
                                         PKWAIT_BLOCK WaitBlockArray);

/* Waits until Interval has elapsed. IRQL: <= APC_LEVEL. STATUS_SUCCESS. Source: WDK
   KeDelayExecutionThread. */
NT_API NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                       PLARGE_INTEGER Interval);

/* Fast and guarded mutexes: the level is APC_LEVEL while one is held, and they are not
   recursive. */
typedef struct _FAST_MUTEX {
    struct _KTHREAD* Owner;
    KEVENT Event;
    KIRQL OldIrql;
} FAST_MUTEX, *PFAST_MUTEX, KGUARDED_MUTEX, *PKGUARDED_MUTEX;

/* Functions of fast and guarded mutexes. A try-acquire returns FALSE for an owned mutex, also for
   its owner. Bug check 0x11 when a thread acquires a mutex twice or releases a mutex of another
   thread. IRQL: initialize: <= DISPATCH_LEVEL; acquire: <= APC_LEVEL;
   release: = APC_LEVEL. Source: WDK ExAcquireFastMutex, KeAcquireGuardedMutex. */
NT_API void ExInitializeFastMutex(PFAST_MUTEX FastMutex);
NT_API void ExAcquireFastMutex(PFAST_MUTEX FastMutex);
NT_API BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex);
NT_API void ExReleaseFastMutex(PFAST_MUTEX FastMutex);
NT_API void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex);

/* Acquire and release without changing the level, for callers in a critical or guarded region or at
   APC_LEVEL. A mutex that is acquired by these functions must be released by them. IRQL: <=
   APC_LEVEL. Source: WDK ExAcquireFastMutexUnsafe, KeAcquireGuardedMutexUnsafe. */
NT_API void ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex);
NT_API void ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex);
NT_API void KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex);
NT_API void KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex);

NT_EXTERN_C_END

#endif
