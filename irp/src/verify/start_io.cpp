// StartIo: the queued IRPs and the calls of its functions.
#include "hooks.hpp"
#include "ledger.hpp"
#include "returned.hpp"

#include <dispatch/detail/held_locks.hpp>

namespace irpverbs::irp::verify {
namespace {

// Marks, for its lifetime, that a processor is in a device's DriverStartIo.
class starting_scope {
public:
    starting_scope(core::processor& self, ledger& book, const DEVICE_OBJECT* device)
        : self_(self), book_(book), device_(device) {
        set(&self);
    }
    ~starting_scope() { set(nullptr); }
    starting_scope(const starting_scope&) = delete;
    starting_scope& operator=(const starting_scope&) = delete;

private:
    // Another processor may already have started the next IRP.
    void set(const core::processor* now) {
        const std::lock_guard guard(book_.lock);
        const core::processor*& starting = book_.device(device_).starting;
        if (now != nullptr || starting == &self_) starting = now;
    }

    core::processor& self_;
    ledger& book_;
    const DEVICE_OBJECT* device_;
};

// The IRP that StartIo was called with last; null if its record has ended.
const record* served_by(ledger& book, const DEVICE_OBJECT* device) {
    return book.find(__atomic_load_n(&device->CurrentIrp, __ATOMIC_RELAXED));
}

draft* check_recursion(core::processor& self, ledger& book, const DEVICE_OBJECT* device) {
    const device_record& known = book.device(device);
    if (known.starting != &self) return nullptr;
    return &book.broken(rule::StartIoRecursion, served_by(book, device),
                        "DriverStartIo of " + device_text(known.number) +
                            " calls IoStartNextPacket, which calls it again: each waiting IRP goes "
                            "deeper into the stack");
}

draft* check_locks(core::processor& self, ledger& book, const DEVICE_OBJECT* device) {
    const core::held_lock* held = core::first_held_spin_lock(self);
    if (held == nullptr && !holds_cancel_lock(self)) return nullptr;
    return &book.broken(rule::SpinLockSafe, served_by(book, device),
                        "IoStartNextPacket is called with a spin lock held")
                .with("lock acquired at",
                      held != nullptr ? held->where : cancel_lock_acquired_at(self));
}

} // namespace

void start_io_attributes(DEVICE_OBJECT* device, bool cancelable) {
    if (!watching(watch::io)) return;
    ledger& book = ledger::of(core::this_processor());
    const std::lock_guard guard(book.lock);
    book.device(device).start_io_cancelable = cancelable;
}

void given_to_start_io(DEVICE_OBJECT* device, IRP* irp, PDRIVER_CANCEL routine) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        record& of = book.known(irp);
        of.start_io = routine != nullptr;
        book.note(self, of, "given to StartIo");
        const device_record& known = book.device(device);
        if (routine == nullptr && known.start_io_cancelable)
            told = &book.broken(rule::StartIoCancel, &of,
                                device_text(known.number) +
                                    " was set up with NonCancelable FALSE, and IoStartPacket is "
                                    "given no cancel routine");
    }
    tell(book, told);
}

void call_start_io(DEVICE_OBJECT* device, IRP* irp) {
    const PDRIVER_STARTIO routine = device->DriverObject->DriverStartIo;
    if (!watching(watch::io)) return routine(device, irp);
    core::processor& self = core::this_processor();
    const starting_scope inside(self, ledger::of(self), device);
    routine(device, irp);
}

void check_watched_queue_irql(core::irql_rule rule) {
    if (settings.lax_device_queue_irql) rule.bound = core::irql_bound::at_most;
    core::check_irql(rule);
}

void check_start_next(DEVICE_OBJECT* device, bool deferred) {
    if (!watching(watch::io)) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        told = check_locks(self, book, device);
        if (told == nullptr && !deferred) told = check_recursion(self, book, device);
    }
    tell(book, told);
}

} // namespace irpverbs::irp::verify
