// The cancel-safe queue's steps with a selectable planted bug that an exploration must find.
#pragma once

#include <dispatch/detail/processor.hpp>
#include <dispatch/detail/spin.hpp>
#include <irp/obligation.hpp>
#include <irp/wdm.h>

namespace irpverbs::testing {

enum class planted {
    nothing,
    dpc_when_it_was_empty,     // instead of when no DPC is queued
    no_second_look_at_cancel,  // after the routine is set
    canceller_trusts_the_list, // completes the request whether it is linked or not
};

template <planted Bug>
class modelled_queue {
public:
    explicit modelled_queue(void (*answer)(irp::obligation)) : answer_(answer) {
        InitializeListHead(&waiting_);
        KeInitializeDpc(&dpc_, drain, this);
    }

    NTSTATUS park(irp::obligation request) {
        IRP* irp = std::move(request).release();
        self_of(irp) = this;
        entry_of(irp) = {};
        IoMarkIrpPending(irp);
        step(dispatch::detail::point::cancel_exchange, irp);
        __atomic_store_n(&irp->CancelRoutine, &modelled_queue::cancel, __ATOMIC_SEQ_CST);
        step(dispatch::detail::point::lock_acquire, this);
        lock_.lock();
        if (Bug != planted::no_second_look_at_cancel && irp->Cancel &&
            (self_of(irp) == nullptr || exchange(irp) != nullptr)) {
            lock_.unlock();
            irp::obligation(irp).complete(STATUS_CANCELLED);
            return STATUS_PENDING;
        }
        const bool none_on_its_way =
            Bug == planted::dpc_when_it_was_empty ? IsListEmpty(&waiting_) != 0 : !armed_;
        armed_ = true;
        InsertTailList(&waiting_, &entry_of(irp));
        lock_.unlock();
        if (none_on_its_way) KeInsertQueueDpc(&dpc_, nullptr, nullptr);
        return STATUS_PENDING;
    }

    bool empty() const { return IsListEmpty(&waiting_) != 0; }

private:
    static void*& self_of(IRP* irp) { return irp->Tail.Overlay.DriverContext[3]; }
    static LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
    static PDRIVER_CANCEL exchange(IRP* irp) {
        return __atomic_exchange_n(&irp->CancelRoutine, nullptr, __ATOMIC_SEQ_CST);
    }
    static void step(dispatch::detail::point kind, const void* object) {
        dispatch::detail::sched_point(kind, object);
    }

    static void cancel(DEVICE_OBJECT*, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        auto* self = static_cast<modelled_queue*>(self_of(irp));
        step(dispatch::detail::point::lock_acquire, self);
        self->lock_.lock();
        const bool linked = entry_of(irp).Flink != nullptr;
        if (linked)
            RemoveEntryList(&entry_of(irp));
        else if (Bug != planted::canceller_trusts_the_list)
            self_of(irp) = nullptr;
        self->lock_.unlock();
        if (linked || Bug == planted::canceller_trusts_the_list)
            irp::obligation(irp).complete(STATUS_CANCELLED);
    }

    static void drain(KDPC*, void* context, void*, void*) {
        auto* self = static_cast<modelled_queue*>(context);
        step(dispatch::detail::point::lock_acquire, self);
        IRP* taken[8];
        int count = 0;
        self->lock_.lock();
        self->armed_ = false;
        for (LIST_ENTRY* each = self->waiting_.Flink; each != &self->waiting_;) {
            IRP* irp = CONTAINING_RECORD(each, IRP, Tail.Overlay.ListEntry);
            each = each->Flink;
            if (exchange(irp) == nullptr) continue;
            RemoveEntryList(&entry_of(irp));
            taken[count++] = irp;
        }
        self->lock_.unlock();
        for (int i = 0; i < count; ++i)
            self->answer_(irp::obligation(taken[i]));
    }

    dispatch::detail::raw_spin lock_;
    bool armed_ = false;
    LIST_ENTRY waiting_;
    KDPC dpc_;
    void (*answer_)(irp::obligation);
};

} // namespace irpverbs::testing
