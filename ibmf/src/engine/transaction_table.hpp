// Transactions in progress: their ids, their pended and cancellable IRPs, their timers. The derived
// class defines the protocol.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSACTION_TABLE_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSACTION_TABLE_HPP

#include <engine/slot_table.hpp>
#include <engine/transaction.hpp>

#include <dispatch/support/spin_lock.hpp>
#include <irp/support/cancel_routine.hpp>
#include <irp/wdm.h>

#include <utility>

namespace irpverbs::ibmf {

class transaction_table {
public:
    class guard;

    transaction_table() = default;
    transaction_table(const transaction_table&) = delete;
    transaction_table& operator=(const transaction_table&) = delete;
    virtual ~transaction_table();

    /// The functions below must be called under the lock.
    transaction* acquire() {
        return slots_.acquire(
            [this](transaction& fresh, shared_timer& timer) { prepare(fresh, timer); });
    }
    /// The timer stays set, and finds out at expiry whether there is work. So a slot that is used
    /// again before then needs only a store to set its time. A timer serves several slots, since
    /// few transactions end by time-out.
    void release(transaction& ended) {
        ended.due = never;
        slots_.release(ended);
    }
    transaction* find(std::uint32_t key) const { return slots_.find(key); }
    std::uint32_t used() const { return slots_.used(); }
    template <class Function>
    void for_each(const Function& function) {
        slots_.for_each([&](transaction& each) {
            if (each.used()) function(each);
        });
    }

    /// Marks the IRP pending and makes it cancellable. Returns false if it is already cancelled;
    /// then the caller completes it.
    bool pend(IRP* irp, transaction& by) {
        by.irp = irp;
        irp->Tail.Overlay.DriverContext[0] = &by;
        IoMarkIrpPending(irp);
        irp::detail::exchange_cancel_routine(irp, cancel);
        if (__atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) == 0) [[likely]]
            return true;
        return claim(by) == nullptr;
    }
    /// Makes the IRP not cancellable and returns it. Null: its canceller ends the transaction.
    static IRP* claim(transaction& by) {
        IRP* const irp = by.irp;
        if (irp::detail::exchange_cancel_routine(irp, nullptr) == nullptr) return nullptr;
        by.irp = nullptr;
        return irp;
    }

    /// Calls expired() at `due`, unless the time is changed before.
    void set_due(transaction& which, ticks due) {
        which.due = due;
        if (due < which.armed) arm(which);
    }

    /// Cancels all timers and waits for running expiries. No transaction may be in progress. IRQL:
    /// PASSIVE_LEVEL, without the lock.
    void stop_timers();

protected:
    virtual void expired(guard& locked, transaction& which, ticks now) = 0;
    /// The callee completes `irp`.
    virtual void cancelled(guard& locked, transaction& which, IRP* irp) = 0;

private:
    void prepare(transaction& fresh, shared_timer& timer);
    static void arm(transaction& which);
    static void timer_fired(KDPC*, void* context, void*, void*);
    static void cancel(DEVICE_OBJECT*, IRP* irp);

    KSPIN_LOCK lock_ = 0;
    transaction_slots slots_;
};

/// An action that runs after the lock is released.
struct deferred {
    deferred* next = nullptr;
    void (*run)(deferred&) = nullptr;
};

/// Holds the lock. The destructor releases the lock, then completes the collected IRPs, then runs
/// the deferred actions, in order.
class transaction_table::guard {
public:
    explicit guard(transaction_table& table)
        : table_(table), self_(dispatch::detail::this_processor()),
          level_(dispatch::detail::acquire_raising(self_, table.lock_)) {}
    /// A bug-check handler may throw.
    [[gnu::always_inline]] ~guard() noexcept(false) {
        dispatch::detail::release_lowering(self_, table_.lock_, level_);
        if (irps_ != nullptr) [[likely]]
            complete_irps(irps_);
        if (deferred_ != nullptr) run_deferred(deferred_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    /// Returns a time that is never before the exact one, and cheaper. A timer set by it is early
    /// only if the kernel's tick is late.
    ticks clock_upper_bound() const { return self_.owner->clock_upper_bound(); }

    void complete(IRP* irp, NTSTATUS status, ULONG_PTR information) {
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        append(irps_, irp->Tail.Overlay.ListEntry, &LIST_ENTRY::Flink);
    }
    void defer(deferred& what, void (*run)(deferred&)) {
        what.run = run;
        append(deferred_, what, &deferred::next);
    }

private:
    template <class Link>
    static void append(Link*& last, Link& link, Link* Link::*next) {
        if (last == nullptr) {
            link.*next = &link;
        } else {
            link.*next = last->*next;
            last->*next = &link;
        }
        last = &link;
    }
    // Passed by value, so that a guard need not be in memory. There is nearly always one IRP.
    static void complete_irps(LIST_ENTRY* last) {
        if (last->Flink != last) [[unlikely]]
            return complete_in_order(last);
        IoCompleteRequest(CONTAINING_RECORD(last, IRP, Tail.Overlay.ListEntry), IO_NO_INCREMENT);
    }
    static void complete_in_order(LIST_ENTRY* last);
    static void run_deferred(deferred* last);

    transaction_table& table_;
    dispatch::detail::processor& self_;
    const KIRQL level_;
    LIST_ENTRY* irps_ = nullptr;   // the last one, whose next is the first
    deferred* deferred_ = nullptr; // the last one, whose next is the first
};

} // namespace irpverbs::ibmf

#endif
