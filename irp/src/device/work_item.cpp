#include "irql_rules.hpp"
#include "require.hpp"

#include <irp/work_item.h>

#include <dispatch/pool.h>
#include <dispatch/support/object.hpp>
#include <dispatch/support/verify.hpp>
#include <dispatch/support/work_item.hpp>

#include <new>

using namespace irpverbs::dispatch::detail;
using irpverbs::irp::require;

struct _IO_WORKITEM {
    WORK_QUEUE_ITEM Item;
    POBJECT_HEADER Object; /* of a device or driver */
    PIO_WORKITEM_ROUTINE Routine;
    PIO_WORKITEM_ROUTINE_EX RoutineEx; /* or this one */
    PVOID Context;
    BOOLEAN Queued;
};

namespace {

constexpr ULONG work_item_tag = 0x69576F49; // "IoWi"

// The driver owns the item again once the routine has begun, so it is not accessed after that.
void run(void* parameter) {
    auto* item = static_cast<IO_WORKITEM*>(parameter);
    const IO_WORKITEM call = *item;
    __atomic_store_n(&item->Queued, BOOLEAN{FALSE}, __ATOMIC_RELEASE);
    if (call.RoutineEx != nullptr)
        call.RoutineEx(call.Object, call.Context, item);
    else
        call.Routine(reinterpret_cast<PDEVICE_OBJECT>(call.Object), call.Context);
    dereference_object(*call.Object);
}

void queue(IO_WORKITEM* item, PIO_WORKITEM_ROUTINE routine, PIO_WORKITEM_ROUTINE_EX routine_ex,
           WORK_QUEUE_TYPE type, void* context) {
    if (__atomic_exchange_n(&item->Queued, BOOLEAN{TRUE}, __ATOMIC_ACQUIRE))
        bug_check(INVALID_WORK_QUEUE_ITEM, "IoQueueWorkItem: the work item is queued already",
                  reinterpret_cast<ULONG_PTR>(item));
    item->Routine = routine;
    item->RoutineEx = routine_ex;
    item->Context = context;
    reference_object(*item->Object);
    ExQueueWorkItem(&item->Item, type);
}

void check_idle(const IO_WORKITEM* item) {
    if (__atomic_load_n(&item->Queued, __ATOMIC_RELAXED))
        bug_check(DRIVER_VERIFIER_DETECTED_VIOLATION,
                  "a work item is freed or taken out of use while it is queued", 0x131,
                  reinterpret_cast<ULONG_PTR>(item));
}

} // namespace

extern "C" {

PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject) {
    require(DeviceObject, "IoAllocateWorkItem: the device is NULL");
    VERIFY_IRQL(IoAllocateWorkItem);
    void* const memory = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(IO_WORKITEM), work_item_tag);
    if (memory == nullptr) return nullptr;
    auto* item = new (memory) IO_WORKITEM;
    IoInitializeWorkItem(DeviceObject, item);
    return item;
}

void IoFreeWorkItem(PIO_WORKITEM IoWorkItem) {
    VERIFY_IRQL(IoFreeWorkItem);
    if (verifying()) check_freed_use(IoWorkItem, "a work item is freed");
    check_idle(IoWorkItem);
    ExFreePoolWithTag(IoWorkItem, work_item_tag);
}

void IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
                     WORK_QUEUE_TYPE QueueType, PVOID Context) {
    VERIFY_IRQL(IoQueueWorkItem);
    queue(IoWorkItem, WorkerRoutine, nullptr, QueueType, Context);
}

void IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                       WORK_QUEUE_TYPE QueueType, PVOID Context) {
    VERIFY_IRQL(IoQueueWorkItemEx);
    queue(IoWorkItem, nullptr, WorkerRoutine, QueueType, Context);
}

ULONG IoSizeofWorkItem(void) { return sizeof(IO_WORKITEM); }

void IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem) {
    require(IoObject, "IoInitializeWorkItem: the device is NULL");
    ObReferenceObject(IoObject); // which rejects a pointer to no object
    *IoWorkItem = {};
    IoWorkItem->Object = static_cast<POBJECT_HEADER>(IoObject);
    dereference_object(*IoWorkItem->Object);
    initialize_work_item(&IoWorkItem->Item, run, IoWorkItem);
}

void IoUninitializeWorkItem(PIO_WORKITEM IoWorkItem) { check_idle(IoWorkItem); }

} // extern "C"
