// Devices: deleted ones, references by IoGetAttachedDeviceReference, and completion routines that
// reference one.
#include "hooks.hpp"
#include "ledger.hpp"
#include "remove_locks.hpp"

#include <dispatch/detail/checks.hpp>

namespace irpverbs::irp::verify {

void check_strict_irql(const char* function) {
    if (!core::settings.strict_sdv_irql) return;
    core::check_irql(
        {function, core::irql_bound::exactly, PASSIVE_LEVEL, 0x0002000A, "IrqlIoPassive1"});
}

void device_created(DEVICE_OBJECT* device) {
    core::introduce_slow(device, "device");
    if (!tracking()) return;
    ledger& book = ledger::of(core::this_processor());
    const std::lock_guard guard(book.lock);
    book.devices.erase(device); // the record of an earlier device at this address
    book.device(device);
}

void device_deleted(DEVICE_OBJECT* device) {
    if (!tracking()) return;
    ledger& book = ledger::of(core::this_processor());
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        device_record& known = book.device(device);
        known.deleted = true;
        known.deleted_at = core::capture_stack(2);
        if (watching(watch::remove_locks)) told = check_lock_of_deleted(book, device);
    }
    tell(book, told);
}

void device_lent(DEVICE_OBJECT* device) {
    if (!watching(watch::lifetime)) return;
    ledger& book = ledger::of(core::this_processor());
    const std::lock_guard guard(book.lock);
    device_record& known = book.device(device);
    ++known.lent;
    known.lent_at = core::capture_stack(2);
}

void device_given_back(DEVICE_OBJECT* device) {
    if (!watching(watch::lifetime)) return;
    ledger& book = ledger::of(core::this_processor());
    const std::lock_guard guard(book.lock);
    device_record& known = book.device(device);
    if (known.lent != 0) --known.lent;
}

void routine_ex_set(DEVICE_OBJECT* device, IRP* irp) {
    if (!watching(watch::io)) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        frame* context = context_of(self);
        if (context == nullptr || context->kind != routine::dispatch || context->irp == nullptr ||
            context->irp->irp != irp)
            return;
        context->routine_ex = true;
        if (device != context->device)
            told = &book.broken(rule::IoSetCompletionRoutineExCheckDeviceObject, context->irp,
                                device_text(context->device_number) + " gives " +
                                    device_text(book.device(device).number) +
                                    " to IoSetCompletionRoutineEx");
    }
    tell(book, told);
}

void routine_ex_failed(IRP* irp) {
    if (!watching(watch::io)) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    const std::lock_guard guard(book.lock);
    frame* context = context_of(self);
    if (context != nullptr && context->irp != nullptr && context->irp->irp == irp)
        context->routine_ex_failed = true;
}

} // namespace irpverbs::irp::verify
