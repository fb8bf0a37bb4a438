// Transactions that are under way: an id for each, its IRP parked and cancellable, its timer. What
// they mean is for who derives from this.
#ifndef IRPVERBS_IBMF_ENGINE_TRANSACTION_TABLE_HPP
#define IRPVERBS_IBMF_ENGINE_TRANSACTION_TABLE_HPP

#include <engine/slot_table.hpp>
#include <engine/transaction.hpp>

#include <dispatch/detail/spin_lock.hpp>
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

    /// All below: under the lock.
    transaction* acquire();
    void release(transaction& ended);
    transaction* find(std::uint32_t key) const { return slots_.find(key); }
    std::uint32_t used() const { return slots_.used(); }
    template <class Function>
    void for_each(const Function& function) {
        slots_.for_each([&](transaction& each) {
            if (each.used()) function(each);
        });
    }

    /// Marks the IRP pending and makes it cancellable. False: it is cancelled already, and the
    /// caller's to complete.
    bool park(IRP* irp, transaction& by);
    /// The IRP, not cancellable any more; null: who cancels it ends the transaction.
    static IRP* claim(transaction& by);

    /// expired() comes at `due`, unless that is changed before.
    void set_due(transaction& which, ticks due);

    /// Withdraws all timers; waits for those that run. No transaction is under way.
    /// IRQL: PASSIVE_LEVEL, without the lock.
    void stop_timers();

protected:
    virtual void expired(guard& under, transaction& which, ticks now) = 0;
    /// `irp` is to be completed.
    virtual void cancelled(guard& under, transaction& which, IRP* irp) = 0;

private:
    void arm(transaction& which);
    static void timer_fired(KDPC*, void* context, void*, void*);
    static void cancel(DEVICE_OBJECT*, IRP* irp);

    KSPIN_LOCK lock_ = 0;
    slot_table<transaction> slots_;
};

/// What is to be done once the lock is free.
struct deferred {
    deferred* next = nullptr;
    void (*run)(deferred&) = nullptr;
};

/// Holds the lock. What was decided under it happens when it goes away: first IRPs are completed,
/// then the rest, in order.
class transaction_table::guard {
public:
    explicit guard(transaction_table& table) : lock_(table.lock_), level_(acquire(lock_)) {}
    /// A bug-check handler may throw.
    ~guard() noexcept(false);
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    void complete(IRP* irp, NTSTATUS status, ULONG_PTR information) {
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        LIST_ENTRY& entry = irp->Tail.Overlay.ListEntry;
        entry.Flink = nullptr;
        *last_irp_ = &entry;
        last_irp_ = &entry.Flink;
    }
    void later(deferred& what, void (*run)(deferred&)) {
        what.next = nullptr;
        what.run = run;
        *last_ = &what;
        last_ = &what.next;
    }

private:
    // A free lock is taken inline; all else is left to the functions of spin_lock.h.
    static KIRQL acquire(KSPIN_LOCK& lock) {
        dispatch::detail::processor* self = dispatch::detail::current;
        if (dispatch::detail::instrumented() || self == nullptr || self->irql > DISPATCH_LEVEL ||
            !dispatch::detail::take_free_lock(*self, lock)) [[unlikely]]
            return KeAcquireSpinLockRaiseToDpc(&lock);
        return std::exchange(self->irql, KIRQL{DISPATCH_LEVEL});
    }
    void release();
    void finish();

    KSPIN_LOCK& lock_;
    KIRQL level_;
    LIST_ENTRY* first_irp_ = nullptr;
    LIST_ENTRY** last_irp_ = &first_irp_;
    deferred* first_ = nullptr;
    deferred** last_ = &first_;
};

} // namespace irpverbs::ibmf

#endif
