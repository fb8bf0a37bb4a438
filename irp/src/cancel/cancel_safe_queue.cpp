#include <irp/cancel_safe_queue.hpp>

#include "cancel_lock.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/unqueued_dpc.hpp>
#include <dispatch/testing/probe.hpp>

#include <mutex>

namespace irpverbs::irp {

using namespace dispatch::detail;

// pend() sets the cancel routine by a plain store, acquires the lock (the barrier between that
// store and the load of Irp->Cancel), and links the request. A canceller may therefore run before
// the request is linked: it then leaves the request to pend(), and clears DriverContext[3] as the
// sign for that. To pend a request costs one locked instruction, to claim it one more.
//
// pend() queues the drain DPC when the queue is not `armed_`. A test for an empty queue would not
// suffice: a request that its canceller owns but has not yet unlinked may stay in the queue after
// the drain, and a request pended behind it would wait for ever.
//
// Each operation is written once, over hooks. The common path makes no call that would have to save
// registers; rare paths end in a call of a cold function.
namespace {

/// The hook precedes a step that is visible to other threads: `unscheduled` does nothing,
/// `scheduled` lets a simulated run switch to another actor. The hook is also called under the
/// lock.
struct unscheduled {
    static void before(point, const void*) {}
};
struct scheduled {
    static void before(point kind, const void* object) { sched_point_slow(kind, object); }
};

} // namespace

struct cancel_safe_queue::steps {
    static IRP* of(LIST_ENTRY* entry) { return pending_irp_list::of(entry); }
    static LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
    static void*& queue_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[3]; }
    static bool cancelled(const IRP* irp) {
        return __atomic_load_n(&irp->Cancel, __ATOMIC_RELAXED) != 0;
    }

    template <class Hooks>
    static void release(cancel_safe_queue& queue) {
        Hooks::before(point::lock_release, &queue);
        queue.lock_.unlock();
    }

    template <class Hooks>
    [[gnu::always_inline]] static NTSTATUS pend(cancel_safe_queue& queue, IRP* irp) {
        queue_of(irp) = &queue;
        entry_of(irp).Flink = nullptr; // not linked yet
        IoMarkIrpPending(irp);
        Hooks::before(point::cancel_exchange, irp);
        store_routine_before_lock(irp, cancel);
        Hooks::before(point::lock_acquire, &queue);
        if (!queue.lock_.try_lock()) [[unlikely]]
            return wait_and_link<Hooks>(queue, irp);
        return link<Hooks>(queue, irp);
    }

    [[gnu::cold, gnu::noinline]] static NTSTATUS pend_scheduled(cancel_safe_queue& queue,
                                                                IRP* irp) {
        return pend<scheduled>(queue, irp);
    }

    template <class Hooks>
    [[gnu::cold, gnu::noinline]] static NTSTATUS wait_and_link(cancel_safe_queue& queue, IRP* irp) {
        IRPVERBS_PROBE("queue.pend_waits_for_the_lock");
        queue.lock_.lock();
        return link<Hooks>(queue, irp);
    }

    // Called with the lock held; releases it.
    template <class Hooks>
    [[gnu::always_inline]] static NTSTATUS link(cancel_safe_queue& queue, IRP* irp) {
        if (cancelled(irp) || queue.close_status_ != STATUS_SUCCESS) [[unlikely]]
            return link_or_complete<Hooks>(queue, irp);
        InsertTailList(&queue.waiting_, &entry_of(irp));
        return unlock_and_drain<Hooks>(queue);
    }

    // After unlock() the request may have left the queue, and the queue's destructor may run. The
    // destructor waits until `armed_` is cleared, and only the DPC that is queued here clears it.
    template <class Hooks>
    [[gnu::always_inline]] static NTSTATUS unlock_and_drain(cancel_safe_queue& queue) {
        const bool armed = queue.armed_;
        queue.armed_ = true;
        release<Hooks>(queue);
        return armed ? STATUS_PENDING : queue_dpc(queue);
    }

    [[gnu::noinline]] static NTSTATUS queue_dpc(cancel_safe_queue& queue) {
        insert_unqueued_dpc(queue.dpc_); // `armed_` was false, so the DPC is not queued
        return STATUS_PENDING;
    }

    // The request is cancelled, or the queue is closed. If the canceller has already finished, or
    // its cancel routine can still be removed, the request is completed here; otherwise the
    // canceller waits for the lock to unlink it.
    template <class Hooks>
    [[gnu::cold, gnu::noinline]] static NTSTATUS link_or_complete(cancel_safe_queue& queue,
                                                                  IRP* irp) {
        Hooks::before(point::cancel_exchange, irp);
        if (queue_of(irp) != nullptr && exchange_routine(irp, nullptr) == nullptr) {
            IRPVERBS_PROBE("queue.canceller_waits_to_unlink");
            InsertTailList(&queue.waiting_, &entry_of(irp));
            return unlock_and_drain<Hooks>(queue);
        }
        if (cancelled(irp)) IRPVERBS_PROBE("queue.cancelled_before_pend");
        const NTSTATUS status = cancelled(irp) ? STATUS_CANCELLED : queue.close_status_;
        release<Hooks>(queue);
        pending_irp(irp).complete(status);
        return STATUS_PENDING;
    }

    // The cancel routine of a pended request.
    static void cancel(DEVICE_OBJECT*, IRP* irp) {
        auto& queue = *static_cast<cancel_safe_queue*>(queue_of(irp));
        processor* self = current;
        if (instrumented() || self == nullptr || !try_release_cancel_lock(*self, irp->CancelIrql))
            [[unlikely]]
            return cancel_slowly(queue, irp);
        lock_and_unlink<unscheduled>(queue, irp);
    }

    [[gnu::cold, gnu::noinline]] static void cancel_slowly(cancel_safe_queue& queue, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        if (instrumented()) return lock_and_unlink<scheduled>(queue, irp);
        lock_and_unlink<unscheduled>(queue, irp);
    }

    template <class Hooks>
    [[gnu::always_inline]] static void lock_and_unlink(cancel_safe_queue& queue, IRP* irp) {
        Hooks::before(point::lock_acquire, &queue);
        if (!queue.lock_.try_lock()) [[unlikely]]
            return wait_and_unlink<Hooks>(queue, irp);
        unlink<Hooks>(queue, irp);
    }

    template <class Hooks>
    [[gnu::cold, gnu::noinline]] static void wait_and_unlink(cancel_safe_queue& queue, IRP* irp) {
        IRPVERBS_PROBE("queue.canceller_waits_for_the_lock");
        queue.lock_.lock();
        unlink<Hooks>(queue, irp);
    }

    // Called with the lock held; releases it. A request that is not yet linked is left to pend().
    template <class Hooks>
    [[gnu::always_inline]] static void unlink(cancel_safe_queue& queue, IRP* irp) {
        if (entry_of(irp).Flink == nullptr) [[unlikely]] {
            queue_of(irp) = nullptr;
            return release<Hooks>(queue);
        }
        RemoveEntryList(&entry_of(irp));
        release<Hooks>(queue);
        irp->IoStatus.Status = STATUS_CANCELLED;
        irp->IoStatus.Information = 0;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }

    // Called with the lock held. Removes all requests that can be claimed, linked by Flink.
    template <class Hooks>
    static LIST_ENTRY* claim(cancel_safe_queue& queue) {
        LIST_ENTRY* entry = queue.waiting_.Flink;
        LIST_ENTRY* first = nullptr;
        LIST_ENTRY** last = &first;
        InitializeListHead(&queue.waiting_);
        while (entry != &queue.waiting_) {
            LIST_ENTRY* next = entry->Flink;
            Hooks::before(point::cancel_exchange, of(entry));
            if (exchange_routine(of(entry), nullptr) != nullptr) {
                *last = entry;
                last = &entry->Flink;
            } else {
                IRPVERBS_PROBE("queue.claim_skipped_cancelled");
                InsertTailList(&queue.waiting_, entry); // its canceller unlinks it
            }
            entry = next;
        }
        *last = nullptr;
        return first;
    }

    template <class Hooks>
    static LIST_ENTRY* claim_all(cancel_safe_queue& queue, NTSTATUS close_status) {
        Hooks::before(point::lock_acquire, &queue);
        queue.lock_.lock();
        if (close_status != STATUS_SUCCESS) queue.close_status_ = close_status;
        LIST_ENTRY* first = claim<Hooks>(queue);
        release<Hooks>(queue);
        return first;
    }

    template <class Hooks>
    static IRP* remove_first(cancel_safe_queue& queue, filter matches, void* context) {
        Hooks::before(point::lock_acquire, &queue);
        const std::lock_guard guard(queue.lock_);
        for (LIST_ENTRY* each = queue.waiting_.Flink; each != &queue.waiting_; each = each->Flink) {
            IRP* irp = of(each);
            if (matches != nullptr && !matches(*irp, context)) continue;
            Hooks::before(point::cancel_exchange, irp);
            if (exchange_routine(irp, nullptr) == nullptr) continue;
            RemoveEntryList(each);
            return irp;
        }
        return nullptr;
    }

    template <class Hooks>
    [[gnu::always_inline]] static void drain(cancel_safe_queue& queue) {
        const drain_routine call = queue.drain_;
        void* drain_context = queue.context_;
        Hooks::before(point::lock_acquire, &queue);
        queue.lock_.lock();
        queue.armed_ = false;
        LIST_ENTRY* entry = claim<Hooks>(queue);
        release<Hooks>(queue); // the queue may be destroyed after its last request
        while (entry != nullptr) {
            IRP* irp = of(entry);
            entry = entry->Flink;
            call(pending_irp(irp), drain_context);
        }
    }

    // The drain DPC's routine.
    static void run_drain(KDPC*, void* queue, void*, void*) {
        if (instrumented()) return drain<scheduled>(*static_cast<cancel_safe_queue*>(queue));
        drain<unscheduled>(*static_cast<cancel_safe_queue*>(queue));
    }
};

cancel_safe_queue::cancel_safe_queue() noexcept { InitializeListHead(&waiting_); }

cancel_safe_queue::cancel_safe_queue(drain_routine drain, void* context)
    : armed_(false), drain_(drain), context_(context) {
    InitializeListHead(&waiting_);
    KeInitializeDpc(&dpc_, steps::run_drain, this);
    name_object(this, "queue");
}

cancel_safe_queue::~cancel_safe_queue() {
    lock_.lock();
    LIST_ENTRY* left = IsListEmpty(&waiting_) ? nullptr : waiting_.Flink;
    lock_.unlock();
    // The caller of pend() queues the DPC after it released the lock, when its request may already
    // have left. So this waits until the DPC has run, or was removed before.
    while (drain_ != nullptr && drain_pending() && !KeRemoveQueueDpc(&dpc_))
        KeFlushQueuedDpcs();
    if (left != nullptr) [[unlikely]]
        detail::irp_abandoned(steps::of(left));
}

bool cancel_safe_queue::drain_pending() const noexcept {
    const std::lock_guard guard(lock_);
    return armed_;
}

NTSTATUS cancel_safe_queue::pend_irp(IRP* irp) {
    if (instrumented()) return steps::pend_scheduled(*this, irp);
    return steps::pend<unscheduled>(*this, irp);
}

IRP* cancel_safe_queue::remove_first(filter matches, void* context) {
    if (instrumented()) return steps::remove_first<scheduled>(*this, matches, context);
    return steps::remove_first<unscheduled>(*this, matches, context);
}

LIST_ENTRY* cancel_safe_queue::claim_all(NTSTATUS close_status) {
    if (instrumented()) return steps::claim_all<scheduled>(*this, close_status);
    return steps::claim_all<unscheduled>(*this, close_status);
}

pending_irp_list cancel_safe_queue::remove_all() {
    return pending_irp_list(claim_all(STATUS_SUCCESS));
}

void cancel_safe_queue::close(NTSTATUS close_status) {
    const NTSTATUS failure = NT_SUCCESS(close_status) ? STATUS_CANCELLED : close_status;
    pending_irp_list(claim_all(failure)).complete(STATUS_CANCELLED);
}

bool cancel_safe_queue::empty() const noexcept {
    const std::lock_guard guard(lock_);
    return IsListEmpty(&waiting_) != 0;
}

} // namespace irpverbs::irp
