#include "frames.hpp"
#include "hooks.hpp"
#include "irp_tracker.hpp"
#include "options.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/thread.h>
#include <irp/support/critical_region.hpp>

#include <algorithm>
#include <iterator>

namespace irpverbs::irp::verify {
namespace {

bool normal_apcs_disabled(const core::processor& self) {
    const KTHREAD& thread = *self.thread;
    return self.irql >= APC_LEVEL || thread.KernelApcDisable != 0 ||
           thread.SpecialApcDisable != 0 || !IsListEmpty(&thread.MutantListHead);
}

bool is_sent_by_the_system(UCHAR major) {
    return major == IRP_MJ_PNP || major == IRP_MJ_POWER || major == IRP_MJ_SYSTEM_CONTROL ||
           major == IRP_MJ_SHUTDOWN;
}

// A thread of the system is never suspended, and may hold the lock without a region.
bool serves_user_mode(core::processor& self, const frame* innermost) {
    if (innermost == nullptr || self.worker || self.thread->StartRoutine != nullptr) return false;
    for (const frame* each = innermost; each != nullptr; each = each->outer)
        if (each->kind != routine::dispatch || is_sent_by_the_system(each->major)) return false;
    return true;
}

} // namespace

void region_lock_acquired(const void* lock) {
    if (!enabled(check::io)) return;
    if (frame* const innermost = context_of(core::this_processor()))
        innermost->region_locks.push_back({lock, core::capture_stack()});
}

void region_lock_released(const void* lock) {
    if (!enabled(check::io)) return;
    for (frame* each = context_of(core::this_processor()); each != nullptr; each = each->outer) {
        const auto held =
            std::find_if(each->region_locks.rbegin(), each->region_locks.rend(),
                         [lock](const frame::region_lock& one) { return one.lock == lock; });
        if (held == each->region_locks.rend()) continue;
        each->region_locks.erase(std::next(held).base());
        return;
    }
}

// A request that pends may hold an ERESOURCE: its completion releases it for this thread.
pending_report* check_region_locks(irp_tracker& tracker, const frame& mine, NTSTATUS status) {
    if (mine.region_locks.empty() || status == STATUS_PENDING) return nullptr;
    return &tracker
                .violation(rule::ExclusiveResourceAccess, mine.irp,
                           "the dispatch routine of " + device_text(mine.device_number) +
                               " returned " + status_text(status) +
                               " and holds an ERESOURCE or push lock that it acquired")
                .with("lock acquired at", mine.region_locks.back().where);
}

void check_critical_region(const void* lock, const char* function, ULONG_PTR id) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    const frame* const innermost = context_of(self);
    if (normal_apcs_disabled(self) || !serves_user_mode(self, innermost)) return;
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = &tracker.violation(
            rule::WithinCriticalRegion, innermost->irp,
            "the dispatch routine of " + device_text(innermost->device_number) + " calls " +
                function +
                " where normal APCs may be delivered: its thread can be suspended "
                "while others wait for the lock");
        report->found.parameters[0] = id;
        report->parameters(self.irql, self.thread->KernelApcDisable,
                           reinterpret_cast<ULONG_PTR>(lock));
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify
