/* Spin locks. While one is held the caller is at DISPATCH_LEVEL and must not wait, complete an IRP
   or call another driver. */
#ifndef IRPVERBS_DISPATCH_SPIN_LOCK_H
#define IRPVERBS_DISPATCH_SPIN_LOCK_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef ULONG_PTR KSPIN_LOCK; /* made free by KeInitializeSpinLock, or by being 0 */
typedef KSPIN_LOCK* PKSPIN_LOCK;

/* A place in the queue of a lock; lives on the stack of the one who waits. */
typedef struct _KSPIN_LOCK_QUEUE {
    struct _KSPIN_LOCK_QUEUE* Next;
    PKSPIN_LOCK Lock;
    ULONG Waiting;
} KSPIN_LOCK_QUEUE, *PKSPIN_LOCK_QUEUE;

typedef struct _KLOCK_QUEUE_HANDLE {
    KSPIN_LOCK_QUEUE LockQueue;
    KIRQL OldIrql;
} KLOCK_QUEUE_HANDLE, *PKLOCK_QUEUE_HANDLE;

typedef LONG EX_SPIN_LOCK; /* 0: free; else opaque */
typedef EX_SPIN_LOCK* PEX_SPIN_LOCK;

/* Makes a lock free. IRQL: any. Source: WDK KeInitializeSpinLock. */
NT_API void KeInitializeSpinLock(PKSPIN_LOCK SpinLock);

/* Raises to DISPATCH_LEVEL and acquires; stores the old level. IRQL: <= DISPATCH_LEVEL.
   Bug check 0x0F (verifier on) when the caller holds it. Source: WDK KeAcquireSpinLock. */
NT_API void KeAcquireSpinLock(PKSPIN_LOCK SpinLock, PKIRQL OldIrql);

/* The same, giving back the old level. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeAcquireSpinLockRaiseToDpc. */
NT_API KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock);

/* Releases and lowers to NewIrql. IRQL: = DISPATCH_LEVEL. Bug check 0x10 for a lock that is free.
   Source: WDK KeReleaseSpinLock. */
NT_API void KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql);

/* Acquires without touching the level. IRQL: >= DISPATCH_LEVEL.
   Source: WDK KeAcquireSpinLockAtDpcLevel. */
NT_API void KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);

/* Releases without touching the level. IRQL: = DISPATCH_LEVEL. Bug check 0x10 for a lock that is
   free. Source: WDK KeReleaseSpinLockFromDpcLevel. */
NT_API void KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock);

/* Acquires if the lock is free; TRUE when it did. IRQL: = DISPATCH_LEVEL.
   Source: WDK KeTryToAcquireSpinLockAtDpcLevel. */
NT_API BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);

/* TRUE when the lock is free at this instant. IRQL: >= DISPATCH_LEVEL. Source: WDK KeTestSpinLock.
 */
NT_API BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock);

/* First come, first served. A lock is used with this family or the plain one, never both.
   Ownership: the handle is the callee's until the release. IRQL: <= DISPATCH_LEVEL; release: =.
   Source: WDK KeAcquireInStackQueuedSpinLock. */
NT_API void KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle);
NT_API void KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle);

/* The same without touching the level. IRQL: >= DISPATCH_LEVEL.
   Source: WDK KeAcquireInStackQueuedSpinLockAtDpcLevel. */
NT_API void KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock,
                                                     PKLOCK_QUEUE_HANDLE LockHandle);
NT_API void KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle);

/* Acquires a reader-writer spin lock for one writer, or shared for readers; raises to
   DISPATCH_LEVEL and returns the old level. A reader that comes while a writer waits is admitted
   after that writer. Therefore a processor that acquires shared what it holds shared deadlocks as
   soon as a writer waits in between; the verifier reports it (SelfDeadlock). IRQL: <=
   DISPATCH_LEVEL. Source: WDK ExAcquireSpinLockExclusive, ExAcquireSpinLockShared. */
NT_API KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock);
NT_API KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock);

/* Releases and lowers to OldIrql. Bug check 0x10 when no writer, or no reader, holds the lock.
   IRQL: = DISPATCH_LEVEL. Source: WDK ExReleaseSpinLockExclusive, ExReleaseSpinLockShared. */
NT_API void ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);
NT_API void ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);

/* Acquire without changing the level. IRQL: >= DISPATCH_LEVEL.
   Source: WDK ExAcquireSpinLockExclusiveAtDpcLevel, ExAcquireSpinLockSharedAtDpcLevel. */
NT_API void ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock);
NT_API void ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock);

/* Release without changing the level. Bug check 0x10 when no writer, or no reader, holds the lock.
   IRQL: >= DISPATCH_LEVEL. Source: WDK ExReleaseSpinLockExclusiveFromDpcLevel,
   ExReleaseSpinLockSharedFromDpcLevel. */
NT_API void ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock);
NT_API void ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock);

/* Makes the caller's shared acquisition exclusive, before writers that wait, if the caller is the
   only reader. Does not wait. 1: the lock is held exclusive, and released so; 0: it is held shared
   as before. IRQL: >= DISPATCH_LEVEL. Source: WDK ExTryConvertSharedSpinLockExclusive. */
NT_API LONG ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock);

NT_EXTERN_C_END

#endif
