// Remove locks: their holders, by tag.
#include "remove_locks.hpp"
#include "hooks.hpp"
#include "irp_tracker.hpp"

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

using holder = remove_lock_record::holder;

std::string lock_text(const remove_lock_record& known) {
    return "remove lock#" + std::to_string(known.number);
}

remove_lock_record& known_lock(irp_tracker& tracker, const IO_REMOVE_LOCK* lock) {
    remove_lock_record& known = tracker.remove_locks[lock];
    if (known.number == 0) known.number = static_cast<std::uint32_t>(tracker.remove_locks.size());
    return known;
}

frame* dispatch_of(core::processor& self) {
    frame* const context = context_of(self);
    return context != nullptr && context->kind == routine::dispatch ? context : nullptr;
}

// The stack on which that routine acquired the remove lock that it already holds.
core::call_stack acquired_at(const irp_tracker& tracker, const frame& by) {
    const auto known = tracker.remove_locks.find(by.remove_lock);
    if (known != tracker.remove_locks.end())
        for (const holder& each : known->second.holders)
            if (each.within == by.holder) return each.where;
    return {};
}

// A device's own remove locks lie in its extension. Others, one for each open file for example, are
// the driver's to use as it likes.
bool is_own(const DEVICE_OBJECT* device, const IO_REMOVE_LOCK* lock) {
    if (device == nullptr) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(device->DeviceExtension);
    const auto place = reinterpret_cast<std::uintptr_t>(lock);
    return place >= begin && place - begin < device->ExtensionSize;
}

bool serves_pnp(const DEVICE_OBJECT* device) {
    return device->DriverObject->MajorFunction[IRP_MJ_PNP] != nullptr;
}

// A routine that waits here for all requests would wait for the one that it was called for.
pending_report* check_request_in_progress(core::processor& self, irp_tracker& tracker,
                                          const IO_REMOVE_LOCK* lock,
                                          const remove_lock_record& known) {
    const frame* context = context_of(self);
    if (context == nullptr || (context->kind == routine::dispatch && context->major == IRP_MJ_PNP))
        return nullptr;
    if (!is_own(context->device, lock) || !serves_pnp(context->device)) return nullptr;
    return &tracker.violation(rule::IoReleaseRemoveLockAndWaitOutsideRemoveDevice, context->irp,
                              "IoReleaseRemoveLockAndWait is called for " + lock_text(known) +
                                  " by a routine of " + device_text(context->device_number) +
                                  " that has a request in hand");
}

// By default it only counts, as Microsoft calls its rule a warning.
pending_report* check_second_lock(irp_tracker& tracker, const frame& mine,
                                  const remove_lock_record& second) {
    switch (settings.two_remove_locks.load(std::memory_order_relaxed)) {
    case policy::allow:
        return nullptr;
    case policy::warn:
        ++tracker.counters.warnings;
        return nullptr;
    case policy::fail:
        break;
    }
    return &tracker
                .violation(rule::MultRemoveLock, mine.irp,
                           "a dispatch routine of " + device_text(mine.device_number) +
                               " acquires " + lock_text(second) + " beside another one")
                .with("other one acquired at", acquired_at(tracker, mine));
}

// True if the tag is another request, which a dispatch routine sends on beside its own: a driver
// that resumes held requests acquires the lock for each.
bool is_for_another(irp_tracker& tracker, const frame& mine, const void* tag) {
    const record* other = tracker.find(static_cast<const IRP*>(tag));
    return other != nullptr && other != mine.irp && other->stage == stage::sent;
}

} // namespace

void remove_lock_initialized(IO_REMOVE_LOCK* lock) {
    if (!enabled(check::remove_locks)) return;
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        remove_lock_record& known = known_lock(tracker, lock);
        if (!known.holders.empty())
            report = &tracker
                          .violation(rule::RemoveLockInitialize, nullptr,
                                     lock_text(known) + " is initialised while it is held")
                          .with("acquired at", known.holders.back().where);
        known.watched = true;
        known.removed = false;
        known.holders.clear();
    }
    emit(tracker, report);
}

void remove_lock_acquired(IO_REMOVE_LOCK* lock, void* tag) {
    if (!enabled(check::remove_locks)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        remove_lock_record& known = known_lock(tracker, lock);
        frame* const mine = dispatch_of(self);
        if (mine != nullptr && mine->remove_lock != nullptr && mine->remove_lock != lock)
            report = check_second_lock(tracker, *mine, known);
        if (mine != nullptr) {
            if (mine->holder == 0) mine->holder = ++tracker.holders;
            mine->remove_lock = lock;
            if (is_own(mine->device, lock)) known.device = mine->device;
        }
        const bool for_mine = mine != nullptr && !is_for_another(tracker, *mine, tag);
        const std::uint64_t within = for_mine ? mine->holder : 0;
        const std::uint64_t request = for_mine ? mine->irp->generation : 0;
        known.holders.push_back({tag, within, request, core::capture_stack()});
    }
    emit(tracker, report);
}

void remove_lock_released(IO_REMOVE_LOCK* lock, void* tag, bool and_wait) {
    if (!enabled(check::remove_locks)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        remove_lock_record& known = known_lock(tracker, lock);
        known.removed = known.removed || and_wait;
        const auto has_tag = [tag](const holder& each) { return each.tag == tag; };
        const auto place = std::find_if(known.holders.rbegin(), known.holders.rend(), has_tag);
        if (place != known.holders.rend()) {
            known.holders.erase(std::next(place).base());
        } else if (known.watched) {
            pending_report& wrong = tracker.violation(
                and_wait ? rule::RemoveLockReleaseAndWait : rule::RemoveLockRelease, nullptr,
                lock_text(known) + " is released with a tag that it is not held with; it is held " +
                    std::to_string(known.holders.size()) + " times");
            if (!known.holders.empty())
                wrong.with("held since", known.holders.back().where);
            else
                wrong.with("released before at", known.released_at);
            report = &wrong;
        }
        known.released_at = core::capture_stack();
        if (report == nullptr && and_wait)
            report = check_request_in_progress(self, tracker, lock, known);
    }
    emit(tracker, report);
}

pending_report* check_remove_locks(irp_tracker& tracker, const frame& mine, NTSTATUS status) {
    if (status == STATUS_PENDING || mine.remove_lock == nullptr) return nullptr;
    for (auto& [lock, known] : tracker.remove_locks)
        for (holder& each : known.holders)
            if (each.within == mine.holder) {
                each.within = 0;
                return &tracker
                            .violation(rule::RemoveLockRelease2, mine.irp,
                                       "the dispatch routine of " +
                                           device_text(mine.device_number) + " returned " +
                                           status_text(status) + " holding " + lock_text(known))
                            .with("acquired at", each.where);
            }
    return nullptr;
}

// True if the holder covers this IRP: by its tag, or because it was acquired in a dispatch routine
// that the processor is still in. An acquisition outside of dispatch routines may cover every IRP,
// unless its tag is another sent IRP.
static bool covers(const holder& each, irp_tracker& tracker, const record& irp, const frame* by) {
    if (each.tag == irp.irp) return true;
    if (each.request == 0) {
        const record* other = tracker.find(static_cast<const IRP*>(each.tag));
        return other == nullptr || other->stage != stage::sent;
    }
    for (; by != nullptr; by = by->outer)
        if (by->irp != nullptr && by->irp->generation == each.request) return true;
    return false;
}

static bool is_held_for(irp_tracker& tracker, const remove_lock_record& known, const record& irp,
                        const frame* by) {
    return std::any_of(known.holders.begin(), known.holders.end(),
                       [&](const holder& each) { return covers(each, tracker, irp, by); });
}

pending_report* check_remove_lock_held(irp_tracker& tracker, const record& irp, const frame* by) {
    if (by == nullptr || by->kind != routine::dispatch || !enabled(check::remove_locks))
        return nullptr;
    // One of the device's own is enough: a driver may have another for another purpose.
    const remove_lock_record* unheld = nullptr;
    for (const auto& [lock, known] : tracker.remove_locks) {
        if (known.device != by->device || !known.watched || known.removed) continue;
        if (is_held_for(tracker, known, irp, by)) return nullptr;
        unheld = &known;
    }
    if (unheld == nullptr) return nullptr;
    return &tracker
                .violation(rule::RemoveLockForward, &irp,
                           device_text(by->device_number) + " passes irp#" +
                               std::to_string(irp.generation) + " (major function " +
                               std::to_string(by->major) + ") down without holding " +
                               lock_text(*unheld) + " for it, as its other requests do")
                .with("remove lock released last at", unheld->released_at);
}

pending_report* check_lock_of_deleted(irp_tracker& tracker, const DEVICE_OBJECT* device) {
    pending_report* report = nullptr;
    for (auto& [lock, known] : tracker.remove_locks) {
        if (known.device != device) continue;
        known.device = nullptr;
        if (known.holders.empty() || report != nullptr) continue;
        report = &tracker
                      .violation(rule::RemoveLockCheck, nullptr,
                                 device_text(tracker.device(device).number) + " is deleted, and " +
                                     lock_text(known) + " is held " +
                                     std::to_string(known.holders.size()) + " times")
                      .with("acquired at", known.holders.back().where);
    }
    return report;
}

void check_held_at_end(irp_tracker& tracker, std::vector<pending_report*>& reports) {
    for (auto& [lock, known] : tracker.remove_locks) {
        if (known.holders.empty()) continue;
        reports.push_back(&tracker
                               .violation(rule::RemoveLock, nullptr,
                                          lock_text(known) + " is held at the end, " +
                                              std::to_string(known.holders.size()) + " times")
                               .with("acquired at", known.holders.back().where));
        known.holders.clear();
    }
}

} // namespace irpverbs::irp::verify
