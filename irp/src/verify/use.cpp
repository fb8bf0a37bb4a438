// Uses of an IRP by a driver that has passed it down or completed it. The inline functions of
// irp/irp.h are checked where driver code is compiled with IRPVERBS_CHECKED_INLINES.
#include "../rules.hpp"
#include "hooks.hpp"
#include "returned.hpp"

#include <irp/irp.h>

namespace irpverbs::irp::verify {
namespace {

draft* judge(ledger& book, record& irp, frame& by, const char* function) {
    const std::string text = device_text(by.device_number) + " calls " + function + " with irp#" +
                             std::to_string(irp.generation);
    if (by.forwarded && by.lower_returned && !came_back(irp, by))
        return &book.broken(rule::UseAfterSend, &irp, text + ", which it has passed down")
                    .with("sent at", irp.sent_at);
    const level& own = irp.at(by.location);
    if (!by.completed || (own.use == by.use && !own.left && !own.held)) return nullptr;
    return &book.broken(rule::UseAfterCompletion, &irp, text + ", which it has completed")
                .with("completed at", irp.completed_at);
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
    }
    return {"", nullptr};
}

} // namespace

void check_use(IRP* irp, const char* function) {
    if (!watching(watch::io)) return;
    core::processor& self = core::this_processor();
    ledger& book = ledger::of(self);
    draft* told = nullptr;
    {
        const std::lock_guard guard(book.lock);
        record* of = book.find(irp);
        frame* by = context_of(self);
        if (of == nullptr || by == nullptr || by->irp != of || by->kind != routine::dispatch ||
            by->used_late)
            return;
        told = judge(book, *of, *by, function);
        by->used_late = told != nullptr;
    }
    tell(book, told);
}

} // namespace irpverbs::irp::verify

extern "C" void VerifierInlineCall(PIRP Irp, INLINE_IRP_CALL Which) {
    using namespace irpverbs::irp::verify;
    if (!core::verifying()) return;
    const inline_call call = described(Which);
    if (call.level != nullptr) core::check_irql(*call.level);
    check_use(Irp, call.name);
}
