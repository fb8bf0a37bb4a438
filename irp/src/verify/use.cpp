// Uses of an IRP by a driver that has passed it down or completed it. The inline functions of
// irp/irp.h are checked where driver code is compiled with IRPVERBS_CHECKED_INLINES.
#include "hooks.hpp"
#include "irql_rules.hpp"
#include "routine_return.hpp"
#include "user_memory.hpp"

#include <irp/irp.h>

namespace irpverbs::irp::verify {
namespace {

pending_report* check_function_use(irp_tracker& tracker, record& irp, frame& by,
                                   const char* function) {
    const std::string text = device_text(by.device_number) + " calls " + function + " with irp#" +
                             std::to_string(irp.generation);
    if (by.forwarded && by.lower_returned && !was_reclaimed(irp, by))
        return &tracker.violation(rule::UseAfterSend, &irp, text + ", which it has passed down")
                    .with("sent at", irp.sent_at);
    const location_record& own = irp.at(by.location);
    if (!by.completed || (own.use == by.use && !own.left && !own.deferred)) return nullptr;
    return &tracker.violation(rule::UseAfterCompletion, &irp, text + ", which it has completed")
                .with("completed at", irp.completed_at);
}

// Only the dispatch routine that has the IRP is known to have given it away.
pending_report* check_own_use(irp_tracker& tracker, record& of, frame* by, const char* function) {
    if (by == nullptr || by->irp != &of || by->kind != routine::dispatch || by->used_late)
        return nullptr;
    pending_report* const report = check_function_use(tracker, of, *by, function);
    by->used_late = report != nullptr;
    return report;
}

pending_report* report_freed(irp_tracker& tracker, const record& of, const std::string& use) {
    return &tracker
                .violation(rule::UseAfterFree, &of,
                           use + " irp#" + std::to_string(of.generation) + ", which was freed")
                .with("freed at", of.freed_at);
}

struct inline_call {
    const char* name;
    const core::irql_rule* level; // null: any
};

inline_call described(INLINE_IRP_CALL which) {
    switch (which) {
    case InlineSkipLocation:
        return {"IoSkipCurrentIrpStackLocation", nullptr};
    case InlineCopyLocation:
        return {"IoCopyCurrentIrpStackLocationToNext",
                &irql_rules::IoCopyCurrentIrpStackLocationToNext};
    case InlineSetCompletionRoutine:
        return {"IoSetCompletionRoutine", &irql_rules::IoSetCompletionRoutine};
    case InlineMarkPending:
        return {"IoMarkIrpPending", nullptr};
    case InlineGetLocation:
        return {"IoGetCurrentIrpStackLocation", nullptr};
    }
    return {"", nullptr};
}

} // namespace

void check_use(IRP* irp, const char* function) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        record* of = tracker.find(irp);
        if (of == nullptr) return;
        report = of->stage == stage::freed
                     ? report_freed(tracker, *of, std::string(function) + " is given")
                     : check_own_use(tracker, *of, context_of(self), function);
    }
    emit(tracker, report);
}

void check_access(const void* address) {
    if (!enabled(check::io)) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    pending_report* report = nullptr;
    {
        const std::lock_guard guard(tracker.lock);
        report = check_user_buffer(tracker, context_of(self), address);
        for (const IRP* irp : tracker.quarantine) {
            const auto distance = static_cast<std::size_t>(static_cast<const char*>(address) -
                                                           reinterpret_cast<const char*>(irp));
            if (distance >= irp->Size) continue;
            if (const record* of = tracker.find(irp))
                report = report_freed(tracker, *of, "a load or store touches");
            break;
        }
    }
    emit(tracker, report);
}

} // namespace irpverbs::irp::verify

extern "C" void VerifierInlineCall(PIRP Irp, INLINE_IRP_CALL Which) {
    using namespace irpverbs::irp::verify;
    if (!core::verifying()) return;
    const inline_call call = described(Which);
    if (call.level != nullptr) core::check_irql(*call.level);
    check_use(Irp, call.name);
}

extern "C" void MarkPendingSchedulingPoint(PIRP Irp) {
    using irpverbs::dispatch::detail::point;
    irpverbs::dispatch::detail::sched_point(point::mark_pending, Irp);
}
