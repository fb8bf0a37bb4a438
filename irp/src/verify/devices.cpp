// Devices: deleted ones, references by IoGetAttachedDeviceReference, and completion routines that
// reference one.
#include "hooks.hpp"
#include "irp_tracker.hpp"
#include "plug_and_play.hpp"
#include "remove_locks.hpp"

#include <dispatch/support/checks.hpp>

namespace irpverbs::irp::verify {
namespace {

// The first parameters of bug check 0xC9.
constexpr ULONG_PTR detached_id = 0x241;
constexpr ULONG_PTR deleted_id = 0x242;

} // namespace

void check_strict_irql(const char* function) {
    if (!core::settings.strict_sdv_irql) return;
    core::check_irql(
        {function, core::irql_bound::exactly, PASSIVE_LEVEL, 0x0002000A, "IrqlIoPassive1"});
}

void device_created(DEVICE_OBJECT* device) {
    core::name_object_slow(device, "device");
    if (!tracking()) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    const std::lock_guard guard(tracker.lock);
    tracker.devices.erase(device); // the record of an earlier device at this address
    tracker.device(device);
}

void device_deleted(DEVICE_OBJECT* device) {
    if (!tracking()) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        device_record& known = tracker.device(device);
        known.deleted = true;
        known.deleted_at = core::capture_stack();
        if (enabled(check::remove_locks)) report = check_lock_of_deleted(tracker, device);
        if (enabled(check::io) && report == nullptr)
            report = check_surprise_removal(tracker, context_of(core::this_processor()), device,
                                            deleted_id);
    }
    emit(tracker, report);
}

void device_detached(DEVICE_OBJECT* device) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = check_surprise_removal(tracker, context_of(self), device, detached_id);
    }
    emit(tracker, report);
}

void device_referenced(DEVICE_OBJECT* device) {
    if (!enabled(check::lifetime)) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    const std::lock_guard guard(tracker.lock);
    device_record& known = tracker.device(device);
    ++known.references;
    known.referenced_at = core::capture_stack();
}

void device_dereferenced(DEVICE_OBJECT* device) {
    if (!enabled(check::lifetime)) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    const std::lock_guard guard(tracker.lock);
    device_record& known = tracker.device(device);
    if (known.references != 0) --known.references;
}

void routine_ex_set(DEVICE_OBJECT* device, IRP* irp) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        frame* context = context_of(self);
        if (context == nullptr || context->kind != routine::dispatch || context->irp == nullptr ||
            context->irp->irp != irp)
            return;
        context->routine_ex = true;
        if (device != context->device)
            report = &tracker.violation(
                rule::IoSetCompletionRoutineExCheckDeviceObject, context->irp,
                device_text(context->device_number) + " gives " +
                    device_text(tracker.device(device).number) + " to IoSetCompletionRoutineEx");
    }
    emit(tracker, report);
}

void routine_ex_failed(IRP* irp) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    frame* context = context_of(self);
    if (context != nullptr && context->irp != nullptr && context->irp->irp == irp)
        context->routine_ex_failed = true;
}

} // namespace irpverbs::irp::verify
