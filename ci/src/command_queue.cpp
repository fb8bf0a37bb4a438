// Commands that wait for their turn, cancellable until it comes.
#include "request.hpp"
#include "spin_guard.hpp"

#include <ci/driver.h>

namespace {

using irpverbs::ci::spin_guard;

HCA_COMMAND_QUEUE& queue_of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, HCA_COMMAND_QUEUE, Csq); }

void insert(IO_CSQ* csq, IRP* irp) {
    InsertTailList(&queue_of(csq).Cancelable, &irp->Tail.Overlay.ListEntry);
}
void remove(IO_CSQ*, IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }

IRP* peek(IO_CSQ* csq, IRP* irp, void*) {
    LIST_ENTRY& head = queue_of(csq).Cancelable;
    LIST_ENTRY* next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : head.Flink;
    return next == &head ? nullptr : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
}

void acquire(IO_CSQ* csq, KIRQL* level) { KeAcquireSpinLock(&queue_of(csq).Lock, level); }
void release(IO_CSQ* csq, KIRQL level) { KeReleaseSpinLock(&queue_of(csq).Lock, level); }
void complete_cancelled(IO_CSQ*, IRP* irp) { HcaComplete(irp, STATUS_CANCELLED, 0); }

bool is_firm(IRP* irp) {
    return irpverbs::ci::ends_an_object(IoGetCurrentIrpStackLocation(irp)->MinorFunction);
}

void insert_firm(HCA_COMMAND_QUEUE& queue, IRP* irp) {
    IoMarkIrpPending(irp);
    const spin_guard guard(queue.Lock);
    InsertTailList(&queue.Firm, &irp->Tail.Overlay.ListEntry);
}

IRP* take_firm(HCA_COMMAND_QUEUE& queue) {
    const spin_guard guard(queue.Lock);
    if (IsListEmpty(&queue.Firm)) return nullptr;
    return CONTAINING_RECORD(RemoveHeadList(&queue.Firm), IRP, Tail.Overlay.ListEntry);
}

// False: more has come meanwhile, and this server goes on.
bool stop_serving(HCA_COMMAND_QUEUE& queue) {
    const spin_guard guard(queue.Lock);
    if (!IsListEmpty(&queue.Firm) || !IsListEmpty(&queue.Cancelable)) return false;
    queue.Serving = FALSE;
    return true;
}

bool start_serving(HCA_COMMAND_QUEUE& queue) {
    const spin_guard guard(queue.Lock);
    if (queue.Serving) return false;
    queue.Serving = TRUE;
    return true;
}

void serve(HCA_COMMAND_QUEUE& queue) {
    do {
        IRP* irp = take_firm(queue);
        if (irp == nullptr) irp = IoCsqRemoveNextIrp(&queue.Csq, nullptr);
        if (irp != nullptr) queue.Execute(irp);
    } while (!stop_serving(queue));
    ExReleaseRundownProtection(&queue.Servers);
}

void serve_by_dpc(KDPC*, void* queue, void*, void*) {
    serve(*static_cast<HCA_COMMAND_QUEUE*>(queue));
}
void serve_by_work_item(void* queue) { serve(*static_cast<HCA_COMMAND_QUEUE*>(queue)); }

} // namespace

extern "C" {

void HcaInitializeCommandQueue(HCA_COMMAND_QUEUE* Queue, HCA_SERVICE Service,
                               NTSTATUS (*Execute)(PIRP Irp)) {
    *Queue = {};
    IoCsqInitialize(&Queue->Csq, insert, remove, peek, acquire, release, complete_cancelled);
    InitializeListHead(&Queue->Cancelable);
    InitializeListHead(&Queue->Firm);
    Queue->Service = Service;
    Queue->Execute = Execute != nullptr ? Execute : HcaExecute;
    ExInitializeRundownProtection(&Queue->Servers);
    KeInitializeDpc(&Queue->Dpc, serve_by_dpc, Queue);
    ExInitializeWorkItem(&Queue->WorkItem, serve_by_work_item, Queue);
}

NTSTATUS HcaQueueCommand(HCA_COMMAND_QUEUE* Queue, PIRP Irp) {
    // The last command may be done, and the queue gone, as soon as this one is in it.
    ExAcquireRundownProtection(&Queue->Servers);
    if (is_firm(Irp))
        insert_firm(*Queue, Irp);
    else
        IoCsqInsertIrp(&Queue->Csq, Irp, nullptr);
    if (!start_serving(*Queue))
        ExReleaseRundownProtection(&Queue->Servers);
    else if (Queue->Service == HcaServeByDpc)
        KeInsertQueueDpc(&Queue->Dpc, nullptr, nullptr);
    else
        ExQueueWorkItem(&Queue->WorkItem, DelayedWorkQueue);
    return STATUS_PENDING;
}

void HcaRundownCommandQueue(HCA_COMMAND_QUEUE* Queue) {
    ExWaitForRundownProtectionRelease(&Queue->Servers);
}

} // extern "C"
