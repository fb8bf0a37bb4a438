/* Device queues: entries wait, in order of arrival or of a key, for a device that serves one
   request at a time. A device that serves a request is busy. */
#ifndef IRPVERBS_IRP_DEVICE_QUEUE_H
#define IRPVERBS_IRP_DEVICE_QUEUE_H

#include <dispatch/spin_lock.h>

NT_EXTERN_C_BEGIN

typedef struct _KDEVICE_QUEUE_ENTRY {
    LIST_ENTRY DeviceListEntry;
    ULONG SortKey;
    BOOLEAN Inserted;
} KDEVICE_QUEUE_ENTRY, *PKDEVICE_QUEUE_ENTRY, *PRKDEVICE_QUEUE_ENTRY;

typedef struct _KDEVICE_QUEUE {
    LIST_ENTRY DeviceListHead;
    KSPIN_LOCK Lock;
    BOOLEAN Busy;
} KDEVICE_QUEUE, *PKDEVICE_QUEUE, *PRKDEVICE_QUEUE;

/* Initialises a queue, empty and not busy. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeInitializeDeviceQueue. */
NT_API void KeInitializeDeviceQueue(PKDEVICE_QUEUE DeviceQueue);

/* Inserts an entry or starts its service. TRUE: the queue was busy; the entry waits at the tail
   (with a key: after all entries of the same or a smaller key). FALSE: the queue was not busy and
   is now; the caller serves the entry. Ownership: a waiting entry is the queue's. IRQL: =
   DISPATCH_LEVEL. Source: WDK KeInsertDeviceQueue, KeInsertByKeyDeviceQueue. */
NT_API BOOLEAN KeInsertDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                   PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);
NT_API BOOLEAN KeInsertByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                        PKDEVICE_QUEUE_ENTRY DeviceQueueEntry, ULONG SortKey);

/* Removes the next entry to serve: the first, or by key the first whose key is SortKey or above,
   otherwise the first. NULL: none waits, and the queue is no longer busy. IRQL: = DISPATCH_LEVEL.
   Source: WDK KeRemoveDeviceQueue, KeRemoveByKeyDeviceQueue. */
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveDeviceQueue(PKDEVICE_QUEUE DeviceQueue);
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey);

/* KeRemoveByKeyDeviceQueue for a queue that may not be busy; returns NULL then. IRQL: =
   DISPATCH_LEVEL. Source: WDK KeRemoveByKeyDeviceQueueIfBusy. */
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueueIfBusy(PKDEVICE_QUEUE DeviceQueue,
                                                           ULONG SortKey);

/* Removes a waiting entry. FALSE: the entry does not wait. IRQL: <= DISPATCH_LEVEL. Source: WDK
   KeRemoveEntryDeviceQueue. */
NT_API BOOLEAN KeRemoveEntryDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                        PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);

NT_EXTERN_C_END

#endif
