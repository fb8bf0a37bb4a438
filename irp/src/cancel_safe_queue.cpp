#include <irp/cancel_safe_queue.hpp>

#include "cancel_lock.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/detail/idle_dpc.hpp>
#include <dispatch/probe.hpp>

#include <mutex>

namespace irpverbs::irp {

using namespace dispatch::detail;

// How a request is parked: its cancel routine is set by a plain store, then the lock is taken
// (which is the barrier between that and the look at Irp->Cancel), then it is linked. So a
// canceller may come before the request is linked: it leaves the request to park(), and tells so by
// clearing DriverContext[3]. One locked instruction parks, one more claims.
//
// The drain DPC is queued when it is not `armed_`. That the queue was empty would not do: a request
// whose canceller has it, but has not unlinked it yet, may outlive the drain, and what is parked
// behind it would wait for ever.
// What is usual is done without a call that would have to save registers; whatever needs one goes
// on in a function of its own, for good.
struct cancel_safe_queue::steps {
    static IRP* of(LIST_ENTRY* entry) { return obligation_list::of(entry); }
    static LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
    static void*& queue_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[3]; }
    static bool cancelled(const IRP* irp) {
        return __atomic_load_n(&irp->Cancel, __ATOMIC_RELAXED) != 0;
    }

    static void prepare(cancel_safe_queue& queue, IRP* irp) {
        queue_of(irp) = &queue;
        entry_of(irp).Flink = nullptr; // not linked yet
        IoMarkIrpPending(irp);
    }

    // Under the lock, which it releases.
    [[gnu::always_inline]] static NTSTATUS link(cancel_safe_queue& queue, IRP* irp) {
        if (cancelled(irp) || queue.refusal_ != STATUS_SUCCESS) [[unlikely]]
            return link_or_refuse(queue, irp);
        InsertTailList(&queue.waiting_, &entry_of(irp));
        return unlock_and_drain(queue);
    }

    // After unlock() the request may be gone from the queue, and the queue's destructor may run: it
    // waits for `armed_` to be cleared, which only the DPC does that is queued here.
    [[gnu::always_inline]] static NTSTATUS unlock_and_drain(cancel_safe_queue& queue) {
        const bool armed = queue.armed_;
        queue.armed_ = true;
        queue.lock_.unlock();
        return armed ? STATUS_PENDING : queue_dpc(queue);
    }

    [[gnu::noinline]] static NTSTATUS queue_dpc(cancel_safe_queue& queue) {
        queue_idle_dpc(queue.dpc_); // `armed_` was false, so it is not queued
        return STATUS_PENDING;
    }

    // The request is cancelled, or the queue closed. When its canceller has come and gone, or can
    // be forestalled, it is completed here; else the canceller waits for the lock to unlink it.
    [[gnu::cold, gnu::noinline]] static NTSTATUS link_or_refuse(cancel_safe_queue& queue,
                                                                IRP* irp) {
        if (queue_of(irp) != nullptr && exchange_routine(irp, nullptr) == nullptr) {
            IRPVERBS_PROBE("queue.canceller_waits_to_unlink");
            InsertTailList(&queue.waiting_, &entry_of(irp));
            return unlock_and_drain(queue);
        }
        if (cancelled(irp)) IRPVERBS_PROBE("queue.cancel_won_before_park");
        const NTSTATUS status = cancelled(irp) ? STATUS_CANCELLED : queue.refusal_;
        queue.lock_.unlock();
        obligation(irp).complete(status);
        return STATUS_PENDING;
    }

    [[gnu::cold, gnu::noinline]] static NTSTATUS wait_and_link(cancel_safe_queue& queue, IRP* irp) {
        queue.lock_.lock();
        return link(queue, irp);
    }

    [[gnu::cold, gnu::noinline]] static NTSTATUS park_instrumented(cancel_safe_queue& queue,
                                                                   IRP* irp) {
        prepare(queue, irp);
        sched_point_slow(point::cancel_exchange, irp);
        store_routine_before_lock(irp, cancel);
        sched_point_slow(point::lock_acquire, &queue);
        return wait_and_link(queue, irp);
    }

    // The cancel routine.
    static void cancel(DEVICE_OBJECT*, IRP* irp) {
        auto& queue = *static_cast<cancel_safe_queue*>(queue_of(irp));
        processor* self = current;
        if (instrumented() || self == nullptr || !try_release_cancel_lock(*self, irp->CancelIrql))
            [[unlikely]]
            return cancel_slowly(queue, irp);
        if (!queue.lock_.try_lock()) [[unlikely]]
            return wait_and_unlink(queue, irp);
        unlink(queue, irp);
    }

    [[gnu::cold, gnu::noinline]] static void cancel_slowly(cancel_safe_queue& queue, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        sched_point(point::lock_acquire, &queue);
        wait_and_unlink(queue, irp);
    }

    [[gnu::cold, gnu::noinline]] static void wait_and_unlink(cancel_safe_queue& queue, IRP* irp) {
        queue.lock_.lock();
        unlink(queue, irp);
    }

    // Under the lock, which it releases. A request that is not linked yet is park()'s.
    [[gnu::always_inline]] static void unlink(cancel_safe_queue& queue, IRP* irp) {
        if (entry_of(irp).Flink == nullptr) [[unlikely]] {
            queue_of(irp) = nullptr;
            return queue.lock_.unlock();
        }
        RemoveEntryList(&entry_of(irp));
        queue.lock_.unlock();
        irp->IoStatus.Status = STATUS_CANCELLED;
        irp->IoStatus.Information = 0;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }

    // Under the lock: all that can be claimed, linked by Flink.
    static LIST_ENTRY* claim(cancel_safe_queue& queue) {
        LIST_ENTRY* entry = queue.waiting_.Flink;
        LIST_ENTRY* first = nullptr;
        LIST_ENTRY** last = &first;
        InitializeListHead(&queue.waiting_);
        while (entry != &queue.waiting_) {
            LIST_ENTRY* next = entry->Flink;
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

    static void drain(KDPC*, void* context, void*, void*) {
        auto& queue = *static_cast<cancel_safe_queue*>(context);
        const drain_routine call = queue.drain_;
        void* its_context = queue.context_;
        sched_point(point::lock_acquire, &queue);
        queue.lock_.lock();
        queue.armed_ = false;
        LIST_ENTRY* entry = claim(queue);
        queue.lock_.unlock(); // the queue may be gone after its last request
        while (entry != nullptr) {
            IRP* irp = of(entry);
            entry = entry->Flink;
            call(obligation(irp), its_context);
        }
    }
};

cancel_safe_queue::cancel_safe_queue() noexcept { InitializeListHead(&waiting_); }

cancel_safe_queue::cancel_safe_queue(drain_routine drain, void* context)
    : armed_(false), drain_(drain), context_(context) {
    InitializeListHead(&waiting_);
    KeInitializeDpc(&dpc_, steps::drain, this);
    introduce(this, "queue");
}

cancel_safe_queue::~cancel_safe_queue() {
    lock_.lock();
    LIST_ENTRY* left = IsListEmpty(&waiting_) ? nullptr : waiting_.Flink;
    lock_.unlock();
    // The caller of park() queues the DPC after the lock, when its request may have left already.
    // So the DPC is waited for until it has run, or was removed before.
    while (drain_ != nullptr && drain_is_coming() && !KeRemoveQueueDpc(&dpc_))
        KeFlushQueuedDpcs();
    if (left != nullptr) [[unlikely]]
        detail::dropped_obligation(steps::of(left));
}

bool cancel_safe_queue::drain_is_coming() const noexcept {
    const std::lock_guard guard(lock_);
    return armed_;
}

NTSTATUS cancel_safe_queue::park_irp(IRP* irp) {
    if (instrumented()) return steps::park_instrumented(*this, irp);
    steps::prepare(*this, irp);
    store_routine_before_lock(irp, steps::cancel);
    if (!lock_.try_lock()) [[unlikely]]
        return steps::wait_and_link(*this, irp);
    return steps::link(*this, irp);
}

IRP* cancel_safe_queue::take(filter matches, void* context) {
    sched_point(point::lock_acquire, this);
    return take_now(matches, context);
}

IRP* cancel_safe_queue::take_now(filter matches, void* context) {
    const std::lock_guard guard(lock_);
    for (LIST_ENTRY* each = waiting_.Flink; each != &waiting_; each = each->Flink) {
        IRP* irp = steps::of(each);
        if ((matches != nullptr && !matches(*irp, context)) ||
            exchange_routine(irp, nullptr) == nullptr)
            continue;
        RemoveEntryList(each);
        return irp;
    }
    return nullptr;
}

obligation_list cancel_safe_queue::pop_all() {
    sched_point(point::lock_acquire, this);
    const std::lock_guard guard(lock_);
    return obligation_list(steps::claim(*this));
}

void cancel_safe_queue::close(NTSTATUS refusal) {
    sched_point(point::lock_acquire, this);
    lock_.lock();
    refusal_ = NT_SUCCESS(refusal) ? STATUS_CANCELLED : refusal;
    obligation_list left(steps::claim(*this));
    lock_.unlock();
    std::move(left).complete(STATUS_CANCELLED);
}

bool cancel_safe_queue::empty() const noexcept {
    const std::lock_guard guard(lock_);
    return IsListEmpty(&waiting_) != 0;
}

} // namespace irpverbs::irp
