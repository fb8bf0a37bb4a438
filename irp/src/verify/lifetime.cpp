// The memory of IRPs: allocation, reinitialisation, free.
#include "hooks.hpp"
#include "irp_tracker.hpp"
#include "quarantine.hpp"

#include "packet/irp_allocation.hpp"
#include "packet/poison.hpp"

#include <dispatch/support/checks.hpp>

#include <cstdlib>

namespace irpverbs::irp::verify {
namespace {

pending_report* check_not_in_use(irp_tracker& tracker, const record& irp, const char* what) {
    const std::string name = std::string(what) + " irp#" + std::to_string(irp.generation);
    if (irp.stage == stage::freed)
        return &tracker.violation(rule::UseAfterFree, &irp, name + ", which was freed")
                    .with("freed at", irp.freed_at);
    if (irp.stage == stage::sent)
        return &tracker.violation(rule::InitializedInUse, &irp, name + ", which a driver has")
                    .with("sent at", irp.sent_at);
    return nullptr;
}

} // namespace

void begin_lifetime(IRP* irp, origin made) {
    core::name_object_slow(irp, "irp");
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    const record* before = tracker.find(irp);
    const bool again = made == origin::found;
    if (again && before != nullptr) made = before->made;
    record& fresh = tracker.create_record(irp, made, irp->StackCount);
    fresh.made_at = core::capture_stack();
    tracker.log_event(self, fresh, again ? "made new by IoReuseIrp" : name_of(made));
}

void set_origin(IRP* irp, origin made) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    record* known = tracker.find(irp);
    if (known == nullptr) return;
    known->made = made;
    tracker.log_event(self, *known, name_of(made));
}

void check_initialize(IRP* irp) {
    if (!tracking()) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        const record* before = tracker.find(irp);
        if (before == nullptr) return;
        report = check_not_in_use(tracker, *before, "IoInitializeIrp is given");
        if (report == nullptr && before->made == origin::allocated)
            report = &tracker
                          .violation(rule::InitializedAllocated, before,
                                     "IoInitializeIrp is given irp#" +
                                         std::to_string(before->generation) + " of IoAllocateIrp")
                          .with("allocated at", before->made_at);
    }
    if (report != nullptr) unpoison_locations(irp); // it is initialised again all the same
    emit(tracker, report);
}

bool check_reuse(IRP* irp) {
    if (!tracking()) return true;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        const record* before = tracker.find(irp);
        if (before == nullptr) return true;
        report = check_not_in_use(tracker, *before, "IoReuseIrp is given");
        if (report == nullptr && before->made != origin::allocated && before->made != origin::found)
            report =
                &tracker.violation(rule::IoReuseIrp, before,
                                   "IoReuseIrp is given irp#" + std::to_string(before->generation) +
                                       ", which IoAllocateIrp did not make");
    }
    emit(tracker, report);
    return report == nullptr;
}

static pending_report* check_freeable(irp_tracker& tracker, const record& known) {
    const std::string name = "IoFreeIrp is given irp#" + std::to_string(known.generation);
    if (known.stage == stage::freed)
        return &tracker
                    .violation(known.made == origin::built_async_fsd ? rule::IoBuildFsdFree
                                                                     : rule::IoAllocateFree,
                               &known, name + ", which was freed before")
                    .with("freed at", known.freed_at);
    if (known.stage == stage::sent)
        return &tracker.violation(rule::FreedInUse, &known, name + ", which a driver has")
                    .with("sent at", known.sent_at);
    if (known.made == origin::initialized)
        return &tracker.violation(rule::IoAllocateFree, &known,
                                  name + ", which IoAllocateIrp did not make");
    const bool control = known.made == origin::built_device_control;
    if ((!control && known.made != origin::built_sync_fsd) || known.at_top) return nullptr;
    return &tracker
                .violation(control ? rule::IoBuildDeviceControlNoFree
                                   : rule::IoBuildSynchronousFsdRequestNoFree,
                           &known, name + ", which the system frees")
                .with("built at", known.made_at);
}

bool check_free(IRP* irp) {
    if (!tracking()) return true;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        if (const record* known = tracker.find(irp)) report = check_freeable(tracker, *known);
    }
    emit(tracker, report);
    return report == nullptr;
}

bool on_pool_free(const void* memory) {
    if (!tracking()) return false;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        const record* known = tracker.find(static_cast<const IRP*>(memory));
        if (known == nullptr || known->made == origin::found || known->made == origin::initialized)
            return false; // the caller's own memory
        const bool freed = known->stage == stage::freed;
        report = &tracker
                      .violation(rule::IrpFreedAsPool, known,
                                 "ExFreePool is given irp#" + std::to_string(known->generation))
                      .with(freed ? "freed at" : name_of(known->made),
                            freed ? known->freed_at : known->made_at);
    }
    emit(tracker, report);
    return true;
}

void locked_pages_freed() {
    if (!enabled(check::io)) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(rule::LockedPages, nullptr,
                                    "an MDL is freed with its pages locked; MmUnlockPages was not "
                                    "called");
    }
    emit(tracker, report);
}

void end_lifetime(IRP* irp) {
    if (!tracking()) {
        std::free(irp);
        return;
    }
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        record& known = tracker.record_of(irp);
        known.stage = stage::freed;
        ++known.epoch;
        known.freed_at = core::capture_stack();
        tracker.log_event(self, known, "freed");
        report = add_to_quarantine(tracker, irp);
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify
