/* Remove locks: a device is not deleted while a request holds its remove lock. */
#ifndef IRPVERBS_IRP_REMOVE_LOCK_H
#define IRPVERBS_IRP_REMOVE_LOCK_H

#include <dispatch/ke.h>

NT_EXTERN_C_BEGIN

typedef struct _IO_REMOVE_LOCK {
    LONG IoCount;
    UCHAR Removed;
    ULONG AllocateTag;
    KEVENT RemoveEvent;
} IO_REMOVE_LOCK, *PIO_REMOVE_LOCK;

/* Initialises a lock. IRQL: PASSIVE_LEVEL. Source: WDK IoInitializeRemoveLock. */
NT_API void IoInitializeRemoveLock(PIO_REMOVE_LOCK RemoveLock, ULONG AllocateTag,
                                   ULONG MaxLockedMinutes, ULONG HighWatermark);

/* Acquires and releases the lock. STATUS_SUCCESS: the device is not deleted before the release with
   the same Tag. STATUS_DELETE_PENDING: the device is being removed. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoAcquireRemoveLock, IoReleaseRemoveLock. */
NT_API NTSTATUS IoAcquireRemoveLock(PIO_REMOVE_LOCK RemoveLock, PVOID Tag);
NT_API void IoReleaseRemoveLock(PIO_REMOVE_LOCK RemoveLock, PVOID Tag);

/* Releases the lock, fails later acquisitions, and waits for the last release. IRQL: PASSIVE_LEVEL.
   Source: WDK IoReleaseRemoveLockAndWait. */
NT_API void IoReleaseRemoveLockAndWait(PIO_REMOVE_LOCK RemoveLock, PVOID Tag);

NT_EXTERN_C_END

#endif
