#include "irql/irql_rules.hpp"
#include "waiting.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/queue.h>

namespace irpverbs::dispatch::detail {
namespace {

// Passes entries to waiting threads while fewer than MaximumCount threads work. Under
// dispatcher_lock.
void deliver_entries(KQUEUE& queue, wake_list& woken) {
    while (queue.CurrentCount < queue.MaximumCount && !IsListEmpty(&queue.EntryListHead) &&
           !IsListEmpty(&queue.Header.WaitListHead)) {
        // The thread that began to wait last has the warmest cache.
        KWAIT_BLOCK& last =
            *CONTAINING_RECORD(queue.Header.WaitListHead.Blink, KWAIT_BLOCK, WaitListEntry);
        wait_state& waiter = *static_cast<wait_state*>(last.Waiter);
        waiter.entry = RemoveHeadList(&queue.EntryListHead);
        add_to_state(queue.Header, -1);
        ++queue.CurrentCount;
        complete_wait(waiter, STATUS_SUCCESS, woken);
    }
}

KQUEUE* associated_queue(const processor& self) { return static_cast<KQUEUE*>(self.thread->Queue); }

} // namespace

void queue_thread_blocked(processor& self, wake_list& woken) {
    KQUEUE* queue = associated_queue(self);
    if (queue == nullptr || self.thread->QueueWait != 0) return;
    --queue->CurrentCount;
    deliver_entries(*queue, woken);
}

void dissociate_queue(processor& self, wake_list& woken) {
    KQUEUE* queue = associated_queue(self);
    if (queue == nullptr) return;
    RemoveEntryList(&self.thread->QueueListEntry);
    self.thread->Queue = nullptr;
    --queue->CurrentCount;
    deliver_entries(*queue, woken);
}

void queue_thread_unblocked(processor& self) {
    KQUEUE* queue = associated_queue(self);
    if (queue != nullptr && self.thread->QueueWait == 0) ++queue->CurrentCount;
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

namespace {

LONG insert(KQUEUE* queue, LIST_ENTRY* entry, bool at_head) {
    VERIFY_IRQL(KeInsertQueue);
    sched_point(point::signal, queue);
    wake_list woken;
    LONG old = 0;
    {
        const std::lock_guard guard(dispatcher_lock);
        old = add_to_state(queue->Header, 1) - 1;
        if (at_head)
            InsertHeadList(&queue->EntryListHead, entry);
        else
            InsertTailList(&queue->EntryListHead, entry);
        deliver_entries(*queue, woken);
    }
    woken.flush();
    return old;
}

// Records that the thread is done with its last entry, and serves this queue from now on. Under
// dispatcher_lock.
void associate_queue(processor& self, KQUEUE* queue, wake_list& woken) {
    KTHREAD& thread = *self.thread;
    if (thread.Queue == queue) {
        --queue->CurrentCount;
        return;
    }
    dissociate_queue(self, woken);
    thread.Queue = queue;
    InsertTailList(&queue->ThreadListHead, &thread.QueueListEntry);
}

// Removes entries without waiting, and returns their number.
ULONG remove_ready(KQUEUE* queue, LIST_ENTRY** entries, ULONG count) {
    ULONG taken = 0;
    while (taken < count && !IsListEmpty(&queue->EntryListHead)) {
        entries[taken++] = RemoveHeadList(&queue->EntryListHead);
        add_to_state(queue->Header, -1);
    }
    return taken;
}

// Waits for an entry. The thread that passes an entry counts the waiting thread as working again;
// after a time-out the waiting thread counts itself.
NTSTATUS wait_for_entry(processor& self, KQUEUE* queue, const time_limit& limit,
                        std::unique_lock<process_spin>& guard, LIST_ENTRY*& entry) {
    KWAIT_BLOCK only{};
    only.Object = &queue->Header;
    wait_state waiter{&self, &only, 1, false};
    self.thread->QueueWait = 1;
    const NTSTATUS result = block(waiter, limit, guard);
    self.thread->QueueWait = 0;
    entry = waiter.entry;
    if (entry == nullptr && self.thread->Queue == queue) ++queue->CurrentCount;
    return result;
}

NTSTATUS remove(KQUEUE* queue, const LARGE_INTEGER* timeout, LIST_ENTRY** entries, ULONG count,
                ULONG& taken) {
    processor& self = this_processor();
    require_wait_allowed(self, timeout, "KeRemoveQueue");
    sched_point(point::wait, queue);
    const time_limit limit = limit_of(self, timeout);
    wake_list woken;
    std::unique_lock guard(dispatcher_lock);
    if (queue->Header.Abandoned != 0) return STATUS_ABANDONED_WAIT_0;
    associate_queue(self, queue, woken);
    taken = queue->CurrentCount < queue->MaximumCount ? remove_ready(queue, entries, count) : 0;
    NTSTATUS result = STATUS_SUCCESS;
    if (taken != 0) {
        ++queue->CurrentCount;
    } else if (timeout != nullptr && timeout->QuadPart == 0) {
        ++queue->CurrentCount; // the thread still serves the queue, without an entry
        result = STATUS_TIMEOUT;
    } else {
        result = wait_for_entry(self, queue, limit, guard, entries[0]);
        if (NT_SUCCESS(result) && result != STATUS_TIMEOUT && result != STATUS_ABANDONED_WAIT_0)
            taken = 1 + remove_ready(queue, entries + 1, count - 1);
    }
    guard.unlock();
    woken.flush();
    return result;
}

} // namespace

extern "C" {

void KeInitializeQueue(PRKQUEUE Queue, ULONG Count) {
    VERIFY_IRQL(KeInitializeQueue);
    *Queue = {};
    initialize_header(Queue->Header, queue_object, 0);
    InitializeListHead(&Queue->EntryListHead);
    InitializeListHead(&Queue->ThreadListHead);
    Queue->MaximumCount = Count != 0 ? Count : KeQueryActiveProcessorCount(nullptr);
    name_object(Queue, "queue");
}

LONG KeInsertQueue(PRKQUEUE Queue, PLIST_ENTRY Entry) { return insert(Queue, Entry, false); }
LONG KeInsertHeadQueue(PRKQUEUE Queue, PLIST_ENTRY Entry) { return insert(Queue, Entry, true); }

PLIST_ENTRY KeRemoveQueue(PRKQUEUE Queue, KPROCESSOR_MODE, PLARGE_INTEGER Timeout) {
    PLIST_ENTRY entry = nullptr;
    ULONG taken = 0;
    const NTSTATUS status = remove(Queue, Timeout, &entry, 1, taken);
    return taken != 0 ? entry : reinterpret_cast<PLIST_ENTRY>(static_cast<LONG_PTR>(status));
}

ULONG KeRemoveQueueEx(PRKQUEUE Queue, KPROCESSOR_MODE, BOOLEAN, PLARGE_INTEGER Timeout,
                      PLIST_ENTRY* EntryArray, ULONG Count) {
    ULONG taken = 0;
    if (Count != 0) remove(Queue, Timeout, EntryArray, Count, taken);
    return taken;
}

LONG KeReadStateQueue(PRKQUEUE Queue) {
    VERIFY_IRQL(KeReadStateQueue);
    return state_of(Queue->Header);
}

PLIST_ENTRY KeRundownQueue(PRKQUEUE Queue) {
    VERIFY_IRQL(KeRundownQueue);
    wake_list woken;
    PLIST_ENTRY left = nullptr;
    {
        const std::lock_guard guard(dispatcher_lock);
        Queue->Header.Abandoned = 1;
        while (!IsListEmpty(&Queue->Header.WaitListHead)) {
            KWAIT_BLOCK& block =
                *CONTAINING_RECORD(Queue->Header.WaitListHead.Flink, KWAIT_BLOCK, WaitListEntry);
            complete_wait(*static_cast<wait_state*>(block.Waiter), STATUS_ABANDONED_WAIT_0, woken);
        }
        while (!IsListEmpty(&Queue->ThreadListHead)) {
            LIST_ENTRY* thread = RemoveHeadList(&Queue->ThreadListHead);
            CONTAINING_RECORD(thread, KTHREAD, QueueListEntry)->Queue = nullptr;
        }
        Queue->CurrentCount = 0;
        if (!IsListEmpty(&Queue->EntryListHead)) {
            left = Queue->EntryListHead.Flink;
            RemoveEntryList(&Queue->EntryListHead);
        }
        InitializeListHead(&Queue->EntryListHead);
        set_state(Queue->Header, 0);
    }
    woken.flush();
    return left;
}

} // extern "C"
