// StartIo: the queued IRPs and the calls of its functions.
#include "hooks.hpp"
#include "irp_tracker.hpp"
#include "routine_return.hpp"

#include <dispatch/support/held_locks.hpp>

namespace irpverbs::irp::verify {
namespace {

// Marks, for its lifetime, that a processor is in a device's DriverStartIo.
class starting_scope {
public:
    starting_scope(core::processor& self, irp_tracker& tracker, const DEVICE_OBJECT* device)
        : self_(self), tracker_(tracker), device_(device) {
        set(&self);
    }
    ~starting_scope() { set(nullptr); }
    starting_scope(const starting_scope&) = delete;
    starting_scope& operator=(const starting_scope&) = delete;

private:
    // Another processor may already have started the next IRP.
    void set(const core::processor* now) {
        const std::lock_guard guard(tracker_.lock);
        const core::processor*& starting = tracker_.device(device_).starting;
        if (now != nullptr || starting == &self_) starting = now;
    }

    core::processor& self_;
    irp_tracker& tracker_;
    const DEVICE_OBJECT* device_;
};

// The IRP that StartIo was called with last; null if its record has ended.
const record* served_by(irp_tracker& tracker, const DEVICE_OBJECT* device) {
    return tracker.find(__atomic_load_n(&device->CurrentIrp, __ATOMIC_RELAXED));
}

pending_report* check_recursion(core::processor& self, irp_tracker& tracker,
                                const DEVICE_OBJECT* device) {
    const device_record& known = tracker.device(device);
    if (known.starting != &self) return nullptr;
    return &tracker.violation(
        rule::StartIoRecursion, served_by(tracker, device),
        "DriverStartIo of " + device_text(known.number) +
            " calls IoStartNextPacket, which calls it again: each waiting IRP goes "
            "deeper into the stack");
}

pending_report* check_locks(core::processor& self, irp_tracker& tracker,
                            const DEVICE_OBJECT* device) {
    const core::held_lock* held = core::first_held_spin_lock(self);
    if (held == nullptr && !holds_cancel_lock(self)) return nullptr;
    return &tracker
                .violation(rule::SpinLockSafe, served_by(tracker, device),
                           "IoStartNextPacket is called with a spin lock held")
                .with("lock acquired at",
                      held != nullptr ? held->where : cancel_lock_acquired_at(self));
}

} // namespace

void start_io_attributes(DEVICE_OBJECT* device, bool cancelable) {
    if (!enabled(check::io)) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    const std::lock_guard guard(tracker.lock);
    tracker.device(device).start_io_cancelable = cancelable;
}

void given_to_start_io(DEVICE_OBJECT* device, IRP* irp, PDRIVER_CANCEL routine) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        record& of = tracker.record_of(irp);
        of.start_io = routine != nullptr;
        tracker.log_event(self, of, "given to StartIo");
        const device_record& known = tracker.device(device);
        if (routine == nullptr && known.start_io_cancelable)
            report =
                &tracker.violation(rule::StartIoCancel, &of,
                                   device_text(known.number) +
                                       " was set up with NonCancelable FALSE, and IoStartPacket is "
                                       "given no cancel routine");
    }
    emit(tracker, report);
}

void call_start_io(DEVICE_OBJECT* device, IRP* irp) {
    const PDRIVER_STARTIO routine = device->DriverObject->DriverStartIo;
    if (!enabled(check::io)) return routine(device, irp);
    core::processor& self = core::this_processor();
    const starting_scope inside(self, irp_tracker::of(self), device);
    routine(device, irp);
}

void check_device_queue_irql(core::irql_rule rule) {
    if (settings.lax_device_queue_irql) rule.bound = core::irql_bound::at_most;
    core::check_irql(rule);
}

void check_start_next(DEVICE_OBJECT* device, bool deferred) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = check_locks(self, tracker, device);
        if (report == nullptr && !deferred) report = check_recursion(self, tracker, device);
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify
