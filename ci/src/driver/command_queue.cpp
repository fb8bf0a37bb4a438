// Queues of commands, which are cancellable until they are served.
#include "objects/pended_irps.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

#include <ci/driver.h>

#include <dispatch/support/spin_lock.hpp>
#include <dispatch/support/unqueued_dpc.hpp>

namespace {

using irpverbs::dispatch::detail::insert_unqueued_dpc;
using irpverbs::dispatch::detail::spin_guard;

using namespace irpverbs::ci;

bool is_uncancellable(IRP* irp) {
    return verb_of(IoGetCurrentIrpStackLocation(irp)).does == action::ends;
}

// Returns false if the IRP was cancelled before.
bool insert(HCA_COMMAND_QUEUE& queue, IRP* irp) {
    if (!is_uncancellable(irp)) return pend(queue.Waiting, queue.Lock, irp);
    pend_uncancellable(queue.Waiting, irp);
    return true;
}

// Returns null when the queue is empty: this server stops.
IRP* next_command(HCA_COMMAND_QUEUE& queue, KEVENT*& stopped) {
    const spin_guard guard(queue.Lock);
    IRP* irp = remove_pended(queue.Waiting);
    queue.Serving = irp != nullptr;
    if (irp == nullptr) stopped = queue.Stopped;
    return irp;
}

// The queue may be freed as soon as the server has stopped.
void serve(HCA_COMMAND_QUEUE& queue) {
    KEVENT* stopped = nullptr;
    while (IRP* irp = next_command(queue, stopped))
        queue.Execute(irp);
    if (stopped != nullptr) KeSetEvent(stopped, IO_NO_INCREMENT, FALSE);
}

void serve_by_dpc(KDPC*, void* queue, void*, void*) {
    serve(*static_cast<HCA_COMMAND_QUEUE*>(queue));
}
void serve_by_work_item(void* queue) { serve(*static_cast<HCA_COMMAND_QUEUE*>(queue)); }

// No server runs, so the DPC and the work item are idle.
void start_server(HCA_COMMAND_QUEUE& queue) {
    if (queue.Service == HcaServeByDpc)
        insert_unqueued_dpc(queue.Dpc);
    else
        ExQueueWorkItem(&queue.WorkItem, DelayedWorkQueue);
}

} // namespace

extern "C" {

void HcaInitializeCommandQueue(HCA_COMMAND_QUEUE* Queue, HCA_SERVICE Service,
                               NTSTATUS (*Execute)(PIRP Irp)) {
    *Queue = {};
    KeInitializeSpinLock(&Queue->Lock);
    InitializeListHead(&Queue->Waiting);
    Queue->Service = Service;
    Queue->Execute = Execute != nullptr ? Execute : HcaExecute;
    KeInitializeDpc(&Queue->Dpc, serve_by_dpc, Queue);
    ExInitializeWorkItem(&Queue->WorkItem, serve_by_work_item, Queue);
}

NTSTATUS HcaQueueCommand(HCA_COMMAND_QUEUE* Queue, PIRP Irp) {
    bool waits = false;
    bool starts = false;
    {
        const spin_guard guard(Queue->Lock);
        waits = insert(*Queue, Irp);
        starts = waits && !Queue->Serving;
        if (starts) Queue->Serving = TRUE;
    }
    if (!waits) return complete(Irp, STATUS_CANCELLED, 0);
    // A server that already ran may have executed the command, and the queue may be freed.
    if (starts) start_server(*Queue);
    return STATUS_PENDING;
}

void HcaRundownCommandQueue(HCA_COMMAND_QUEUE* Queue) {
    KEVENT stopped;
    KeInitializeEvent(&stopped, NotificationEvent, FALSE);
    {
        const spin_guard guard(Queue->Lock);
        if (!Queue->Serving) return;
        Queue->Stopped = &stopped;
    }
    KeWaitForSingleObject(&stopped, Executive, KernelMode, FALSE, nullptr);
}

} // extern "C"
