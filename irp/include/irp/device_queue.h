/* Device queues: what waits for a device that serves one request at a time, in order of arrival or
   of a key. A device that is served is busy. */
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

/* Prepares a queue, empty and not busy. IRQL: <= DISPATCH_LEVEL. Source: WDK
 * KeInitializeDeviceQueue.
 */
NT_API void KeInitializeDeviceQueue(PKDEVICE_QUEUE DeviceQueue);

/* Busy: TRUE, the entry waits at the tail (or after those with the same or a smaller key). Not
   busy: FALSE, the queue is busy now and the entry is the caller's to serve. Ownership: an entry
   that waits is the queue's. IRQL: = DISPATCH_LEVEL. Source: WDK KeInsertDeviceQueue,
   KeInsertByKeyDeviceQueue. */
NT_API BOOLEAN KeInsertDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                   PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);
NT_API BOOLEAN KeInsertByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                        PKDEVICE_QUEUE_ENTRY DeviceQueueEntry, ULONG SortKey);

/* The next to serve: the first (the first whose key is SortKey or above, else the first); NULL:
   none waits, the queue is not busy any more. IRQL: = DISPATCH_LEVEL. Source: WDK
   KeRemoveDeviceQueue, KeRemoveByKeyDeviceQueue. */
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveDeviceQueue(PKDEVICE_QUEUE DeviceQueue);
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey);

/* The same for a queue that may not be busy: then NULL. IRQL: = DISPATCH_LEVEL.
   Source: WDK KeRemoveByKeyDeviceQueueIfBusy. */
NT_API PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueueIfBusy(PKDEVICE_QUEUE DeviceQueue,
                                                           ULONG SortKey);

/* Takes out one that waits. FALSE: it does not. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeRemoveEntryDeviceQueue. */
NT_API BOOLEAN KeRemoveEntryDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                        PKDEVICE_QUEUE_ENTRY DeviceQueueEntry);

NT_EXTERN_C_END

#endif
