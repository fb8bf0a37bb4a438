#include "irql_rules.hpp"
#include "verify/hooks.hpp"

#include <irp/device_queue.h>

using namespace irpverbs::dispatch::detail;

namespace {

KDEVICE_QUEUE_ENTRY* entry_of(LIST_ENTRY* link) {
    return CONTAINING_RECORD(link, KDEVICE_QUEUE_ENTRY, DeviceListEntry);
}

template <class Change>
auto under_lock(KDEVICE_QUEUE* queue, const Change& change) {
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&queue->Lock);
    const auto result = change();
    KeReleaseSpinLock(&queue->Lock, level);
    return result;
}

// Called with the lock held. False: the queue was not busy, and is now.
bool must_wait(KDEVICE_QUEUE* queue, KDEVICE_QUEUE_ENTRY* entry) {
    entry->Inserted = queue->Busy;
    queue->Busy = TRUE;
    return entry->Inserted != FALSE;
}

// The first entry with that key or a greater one; the list's head when there is none.
LIST_ENTRY* first_from(KDEVICE_QUEUE* queue, ULONG key) {
    LIST_ENTRY* link = queue->DeviceListHead.Flink;
    while (link != &queue->DeviceListHead && entry_of(link)->SortKey < key)
        link = link->Flink;
    return link;
}

// The last entry with that key or a smaller one; the list's head when there is none.
LIST_ENTRY* last_up_to(KDEVICE_QUEUE* queue, ULONG key) {
    LIST_ENTRY* link = queue->DeviceListHead.Blink;
    while (link != &queue->DeviceListHead && entry_of(link)->SortKey > key)
        link = link->Blink;
    return link;
}

KDEVICE_QUEUE_ENTRY* remove_entry(LIST_ENTRY* link) {
    RemoveEntryList(link);
    entry_of(link)->Inserted = FALSE;
    return entry_of(link);
}

// Called with the lock held.
KDEVICE_QUEUE_ENTRY* remove_next(KDEVICE_QUEUE* queue, ULONG key) {
    queue->Busy = !IsListEmpty(&queue->DeviceListHead);
    if (!queue->Busy) return nullptr;
    LIST_ENTRY* link = first_from(queue, key);
    return remove_entry(link != &queue->DeviceListHead ? link : queue->DeviceListHead.Flink);
}

} // namespace

extern "C" {

void KeInitializeDeviceQueue(PKDEVICE_QUEUE DeviceQueue) {
    VERIFY_IRQL(KeInitializeDeviceQueue);
    InitializeListHead(&DeviceQueue->DeviceListHead);
    KeInitializeSpinLock(&DeviceQueue->Lock);
    DeviceQueue->Busy = FALSE;
}

BOOLEAN KeInsertDeviceQueue(PKDEVICE_QUEUE DeviceQueue, PKDEVICE_QUEUE_ENTRY DeviceQueueEntry) {
    VERIFY_IRQL(KeInsertDeviceQueue);
    return under_lock(DeviceQueue, [&] {
        if (must_wait(DeviceQueue, DeviceQueueEntry))
            InsertTailList(&DeviceQueue->DeviceListHead, &DeviceQueueEntry->DeviceListEntry);
        return DeviceQueueEntry->Inserted;
    });
}

BOOLEAN KeInsertByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, PKDEVICE_QUEUE_ENTRY DeviceQueueEntry,
                                 ULONG SortKey) {
    VERIFY_IRQL(KeInsertByKeyDeviceQueue);
    return under_lock(DeviceQueue, [&] {
        DeviceQueueEntry->SortKey = SortKey;
        if (must_wait(DeviceQueue, DeviceQueueEntry))
            InsertHeadList(last_up_to(DeviceQueue, SortKey), &DeviceQueueEntry->DeviceListEntry);
        return DeviceQueueEntry->Inserted;
    });
}

PKDEVICE_QUEUE_ENTRY KeRemoveDeviceQueue(PKDEVICE_QUEUE DeviceQueue) {
    irpverbs::irp::verify::check_queue_irql(irpverbs::irp::irql_rules::KeRemoveDeviceQueue);
    return under_lock(DeviceQueue, [&] { return remove_next(DeviceQueue, 0); });
}

PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueue(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey) {
    irpverbs::irp::verify::check_queue_irql(irpverbs::irp::irql_rules::KeRemoveByKeyDeviceQueue);
    return under_lock(DeviceQueue, [&] { return remove_next(DeviceQueue, SortKey); });
}

PKDEVICE_QUEUE_ENTRY KeRemoveByKeyDeviceQueueIfBusy(PKDEVICE_QUEUE DeviceQueue, ULONG SortKey) {
    irpverbs::irp::verify::check_queue_irql(
        irpverbs::irp::irql_rules::KeRemoveByKeyDeviceQueueIfBusy);
    return under_lock(DeviceQueue, [&] {
        return DeviceQueue->Busy ? remove_next(DeviceQueue, SortKey) : nullptr;
    });
}

BOOLEAN KeRemoveEntryDeviceQueue(PKDEVICE_QUEUE DeviceQueue,
                                 PKDEVICE_QUEUE_ENTRY DeviceQueueEntry) {
    VERIFY_IRQL(KeRemoveEntryDeviceQueue);
    return under_lock(DeviceQueue, [&] {
        const BOOLEAN inserted = DeviceQueueEntry->Inserted;
        if (inserted) remove_entry(&DeviceQueueEntry->DeviceListEntry);
        return inserted;
    });
}

} // extern "C"
