/* Spin locks. The holder of a spin lock is at DISPATCH_LEVEL and must not wait, complete an IRP or
   call another driver. */
#ifndef IRPVERBS_DISPATCH_SPIN_LOCK_H
#define IRPVERBS_DISPATCH_SPIN_LOCK_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef ULONG_PTR KSPIN_LOCK; /* KeInitializeSpinLock, or the value 0, makes it free */
typedef KSPIN_LOCK* PKSPIN_LOCK;

/* A place in the queue of a lock; it lies on the stack of the waiting thread. */
typedef struct _KSPIN_LOCK_QUEUE {
    struct _KSPIN_LOCK_QUEUE* Next;
    PKSPIN_LOCK Lock;
    ULONG Waiting;
} KSPIN_LOCK_QUEUE, *PKSPIN_LOCK_QUEUE;

typedef struct _KLOCK_QUEUE_HANDLE {
    KSPIN_LOCK_QUEUE LockQueue;
    KIRQL OldIrql;
} KLOCK_QUEUE_HANDLE, *PKLOCK_QUEUE_HANDLE;

typedef LONG EX_SPIN_LOCK; /* 0: free; other values are opaque */
typedef EX_SPIN_LOCK* PEX_SPIN_LOCK;

/* Initializes a lock as free. IRQL: any. Source: WDK KeInitializeSpinLock. */
NT_API void KeInitializeSpinLock(PKSPIN_LOCK SpinLock);

/* Raises the level to DISPATCH_LEVEL, acquires the lock and stores the old level. Bug check 0x0F
   (verifier on) when the caller holds the lock. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeAcquireSpinLock. */
NT_API void KeAcquireSpinLock(PKSPIN_LOCK SpinLock, PKIRQL OldIrql);

/* Acquires as KeAcquireSpinLock does, and returns the old level. IRQL: <= DISPATCH_LEVEL. Source:
   WDK KeAcquireSpinLockRaiseToDpc. */
NT_API KIRQL KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock);

/* Releases the lock and lowers the level to NewIrql. Bug check 0x10 for a lock that is free. IRQL:
   = DISPATCH_LEVEL. Source: WDK KeReleaseSpinLock. */
NT_API void KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql);

/* Acquires the lock without changing the level. IRQL: >= DISPATCH_LEVEL. Source: WDK
   KeAcquireSpinLockAtDpcLevel. */
NT_API void KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);

/* Releases the lock without changing the level. Bug check 0x10 for a lock that is free. IRQL: =
   DISPATCH_LEVEL. Source: WDK KeReleaseSpinLockFromDpcLevel. */
NT_API void KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock);

/* Acquires the lock if it is free; never waits. TRUE: the lock was acquired. IRQL: =
   DISPATCH_LEVEL. Source: WDK KeTryToAcquireSpinLockAtDpcLevel. */
NT_API BOOLEAN KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);

/* Returns TRUE when the lock is free at this instant. IRQL: >= DISPATCH_LEVEL. Source: WDK
   KeTestSpinLock. */
NT_API BOOLEAN KeTestSpinLock(PKSPIN_LOCK SpinLock);

/* Queued spin locks: the lock goes to its waiters in the order in which they came. A lock is used
   either with these functions or with the plain ones, never with both. Ownership: the handle is the
   library's until the release. IRQL: acquire: <= DISPATCH_LEVEL; release: = DISPATCH_LEVEL. Source:
   WDK KeAcquireInStackQueuedSpinLock. */
NT_API void KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle);
NT_API void KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle);

/* Acquire and release a queued spin lock without changing the level. IRQL: >= DISPATCH_LEVEL.
   Source: WDK KeAcquireInStackQueuedSpinLockAtDpcLevel. */
NT_API void KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock,
                                                     PKLOCK_QUEUE_HANDLE LockHandle);
NT_API void KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle);

/* Acquires a reader-writer spin lock exclusively, for one writer, or shared, for readers; raises
   the level to DISPATCH_LEVEL and returns the old level. A reader that comes while a writer waits
   is admitted after that writer. Therefore a processor that acquires shared a lock that it already
   holds shared deadlocks as soon as a writer waits in between; the verifier reports this
   (SelfDeadlock). IRQL: <= DISPATCH_LEVEL. Source: WDK ExAcquireSpinLockExclusive,
   ExAcquireSpinLockShared. */
NT_API KIRQL ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock);
NT_API KIRQL ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock);

/* Releases the lock and lowers the level to OldIrql. Bug check 0x10 when no writer, or no reader,
   holds the lock. IRQL: = DISPATCH_LEVEL. Source: WDK ExReleaseSpinLockExclusive,
   ExReleaseSpinLockShared. */
NT_API void ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);
NT_API void ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql);

/* Acquire the lock without changing the level. IRQL: >= DISPATCH_LEVEL. Source: WDK
   ExAcquireSpinLockExclusiveAtDpcLevel, ExAcquireSpinLockSharedAtDpcLevel. */
NT_API void ExAcquireSpinLockExclusiveAtDpcLevel(PEX_SPIN_LOCK SpinLock);
NT_API void ExAcquireSpinLockSharedAtDpcLevel(PEX_SPIN_LOCK SpinLock);

/* Release the lock without changing the level. Bug check 0x10 when no writer, or no reader, holds
   the lock. IRQL: >= DISPATCH_LEVEL. Source: WDK ExReleaseSpinLockExclusiveFromDpcLevel,
   ExReleaseSpinLockSharedFromDpcLevel. */
NT_API void ExReleaseSpinLockExclusiveFromDpcLevel(PEX_SPIN_LOCK SpinLock);
NT_API void ExReleaseSpinLockSharedFromDpcLevel(PEX_SPIN_LOCK SpinLock);

/* Converts the caller's shared acquisition to an exclusive one if the caller is the only reader;
   the conversion precedes writers that wait. Never waits. 1: the caller holds the lock exclusively
   and must release it so. 0: the caller still holds the lock shared. IRQL: >= DISPATCH_LEVEL.
   Source: WDK ExTryConvertSharedSpinLockExclusive. */
NT_API LONG ExTryConvertSharedSpinLockExclusive(PEX_SPIN_LOCK SpinLock);

NT_EXTERN_C_END

#endif
