/* Objects a thread can wait for (events, semaphores, mutexes) and the waits themselves.
   Time is machine time: virtual in the simulator. Time-outs are in units of 100 ns, negative
   relative to now, positive absolute system time: such a wait follows the computer's clock when
   that is set, within a second. */
#ifndef IRPVERBS_DISPATCH_WAIT_H
#define IRPVERBS_DISPATCH_WAIT_H

#include <dispatch/irql.h>
#include <dispatch/ntstatus.h>

NT_EXTERN_C_BEGIN

/* First member of everything that can be waited for. */
typedef struct _DISPATCHER_HEADER {
    UCHAR Type;
    UCHAR Signalling;
    UCHAR Abandoned; /* a KQUEUE that was run down */
    UCHAR Periodic;  /* a KTIMER with a period */
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

/* One thread's place in one object's list of waiters; only its size is the caller's business. */
typedef struct _KWAIT_BLOCK {
    LIST_ENTRY WaitListEntry;
    DISPATCHER_HEADER* Object;
    PVOID Waiter;
    ULONG WaitKey;
} KWAIT_BLOCK, *PKWAIT_BLOCK;

/* Prepares an event in the given state. Ownership: the caller keeps the memory. IRQL: any.
   Source: WDK KeInitializeEvent. */
NT_API void KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State);

/* Signals: a notification event releases all, a synchronization event one. Gives back the old
   state. IRQL: <= DISPATCH_LEVEL; <= APC_LEVEL with Wait. Source: WDK KeSetEvent. */
NT_API LONG KeSetEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait);

/* Unsignals; gives back the old state. IRQL: <= DISPATCH_LEVEL. Source: WDK KeResetEvent. */
NT_API LONG KeResetEvent(PRKEVENT Event);

/* Unsignals. IRQL: <= DISPATCH_LEVEL. Source: WDK KeClearEvent. */
NT_API void KeClearEvent(PRKEVENT Event);

/* Releases those who wait now and leaves it unsignalled; gives back the old state.
   IRQL: <= DISPATCH_LEVEL. Source: WDK KePulseEvent. */
NT_API LONG KePulseEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait);

/* The state, 0 when unsignalled. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateEvent. */
NT_API LONG KeReadStateEvent(PRKEVENT Event);

/* Prepares a semaphore with a count between 0 and Limit. IRQL: PASSIVE_LEVEL.
   Source: WDK KeInitializeSemaphore. */
NT_API void KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit);

/* Adds to the count; gives back the old one. Beyond Limit: bug check 0x139 (Windows raises
   STATUS_SEMAPHORE_LIMIT_EXCEEDED). IRQL: <= DISPATCH_LEVEL. Source: WDK KeReleaseSemaphore. */
NT_API LONG KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY Increment, LONG Adjustment,
                               BOOLEAN Wait);

/* Returns the count of a semaphore, 0 when it is unsignalled. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeReadStateSemaphore. */
NT_API LONG KeReadStateSemaphore(PRKSEMAPHORE Semaphore);

/* A mutex, free; recursive; owned by a thread. Level is ignored. IRQL: any. Source: WDK
 * KeInitializeMutex. */
NT_API void KeInitializeMutex(PRKMUTEX Mutex, ULONG Level);

/* Releases once; gives back the old signal state (0 when it becomes free). Not the owner: bug check
   0x11. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReleaseMutex. */
NT_API LONG KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN Wait);

/* Returns the signal state of a mutex: 1 when it is free, 0 when it is owned, less when its owner
   acquired it more than once. IRQL: <= DISPATCH_LEVEL. Source: WDK KeReadStateMutex. */
NT_API LONG KeReadStateMutex(PRKMUTEX Mutex);

/* Waits until Object (KEVENT, KSEMAPHORE, KMUTEX, KTIMER, KTHREAD) is signalled; anything else: bug
   check 0x04. STATUS_SUCCESS; STATUS_TIMEOUT; STATUS_ABANDONED_WAIT_0 for a mutex whose owner
   ended. Timeout: NULL for ever, 0 only looks. IRQL: <= APC_LEVEL, <= DISPATCH_LEVEL when *Timeout
   is 0; else bug check 0xB8. Source: WDK KeWaitForSingleObject. */
NT_API NTSTATUS KeWaitForSingleObject(PVOID Object, KWAIT_REASON WaitReason,
                                      KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                      PLARGE_INTEGER Timeout);
#define KeWaitForMutexObject KeWaitForSingleObject

/* Waits for any (STATUS_WAIT_0 + index) or for all (STATUS_SUCCESS, taken together) of Count
   objects. Count above THREAD_WAIT_OBJECTS needs WaitBlockArray (Count of them); above
   MAXIMUM_WAIT_OBJECTS: STATUS_INVALID_PARAMETER. IRQL and time-out as above. Source: WDK
   KeWaitForMultipleObjects. */
NT_API NTSTATUS KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType,
                                         KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
                                         BOOLEAN Alertable, PLARGE_INTEGER Timeout,
                                         PKWAIT_BLOCK WaitBlockArray);

/* Waits out Interval. STATUS_SUCCESS. IRQL: <= APC_LEVEL. Source: WDK KeDelayExecutionThread. */
NT_API NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                       PLARGE_INTEGER Interval);

/* Mutexes that raise to APC_LEVEL while held and are not recursive. */
typedef struct _FAST_MUTEX {
    struct _KTHREAD* Owner;
    KEVENT Event;
    KIRQL OldIrql;
} FAST_MUTEX, *PFAST_MUTEX, KGUARDED_MUTEX, *PKGUARDED_MUTEX;

/* IRQL: <= DISPATCH_LEVEL to initialise, <= APC_LEVEL to acquire, = APC_LEVEL to release.
   Acquired twice by one thread, or released by another: bug check 0x11.
   Source: WDK ExAcquireFastMutex, KeAcquireGuardedMutex. */
NT_API void ExInitializeFastMutex(PFAST_MUTEX FastMutex);
NT_API void ExAcquireFastMutex(PFAST_MUTEX FastMutex);
NT_API BOOLEAN ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex);
NT_API void ExReleaseFastMutex(PFAST_MUTEX FastMutex);
NT_API void KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API void KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API BOOLEAN KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex);
NT_API void KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex);

/* The same without a change of the level, for callers in a critical or guarded region or at
   APC_LEVEL; what is acquired so is released so. IRQL: <= APC_LEVEL.
   Source: WDK ExAcquireFastMutexUnsafe, KeAcquireGuardedMutexUnsafe. */
NT_API void ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex);
NT_API void ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex);
NT_API void KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex);
NT_API void KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex);

NT_EXTERN_C_END

#endif
