#include "waits.hpp"

namespace irpverbs::irp::verify {
namespace {

bool is_bound(const record& irp) {
    return irp.made == origin::built_device_control || irp.made == origin::built_sync_fsd;
}

bool is_control(const record& irp) { return irp.made == origin::built_device_control; }

bool was_on_stack(const frame& mine, const void* object) {
    return object != nullptr && is_on_stack(mine, mine.bound_depth, object);
}

std::string hang_report(rule which, const record& irp, const std::string& text) {
    const rule_entry& entry = entry_of(which);
    return std::string("rule: ") + entry.name + "\nirp#" + std::to_string(irp.generation) + text +
           "\nthe rule: " + entry.meaning + "\nstack (sent at):\n" + core::describe(irp.sent_at);
}

// The rule depends on whether the IRP returned to its originator, and on how it was allocated.
rule not_woken(const record& irp) {
    if (irp.stage == stage::sent) return rule::SignalEventInCompletion;
    return irp.made == origin::allocated         ? rule::IoAllocateIrpSignalEventInCompletion
           : irp.made == origin::built_async_fsd ? rule::IoBuildFsdIrpSignalEventInCompletion
                                                 : rule::SignalEventInCompletion;
}

} // namespace

void on_wait(const void* object) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    if (object != nullptr)
        tracker.waiting[&self] = object;
    else
        tracker.waiting.erase(&self);
}

void on_event_set(const void*) {
    if (!tracking()) return;
    core::processor& self = core::this_processor();
    const frame* context = context_of(self);
    if (context == nullptr || context->kind != routine::completion || context->irp == nullptr)
        return;
    irp_tracker& tracker = irp_tracker::of(self);
    const std::lock_guard guard(tracker.lock);
    if (context->irp->has(context->location)) context->irp->at(context->location).woken = true;
}

pending_report* check_stack_left(irp_tracker& tracker, const frame& mine) {
    if (mine.bound == nullptr) return nullptr;
    const record* irp = tracker.find(mine.bound);
    if (irp == nullptr || irp->generation != mine.bound_generation || irp->stage != stage::sent)
        return nullptr;
    const bool block_gone = was_on_stack(mine, irp->irp->UserIosb);
    if (!block_gone && !was_on_stack(mine, irp->irp->UserEvent)) return nullptr;
    pending_report& report = tracker.violation(
        is_control(*irp) ? rule::IoBuildDeviceControlWait : rule::IoBuildSynchronousFsdRequestWait,
        irp,
        "the dispatch routine of " + device_text(mine.device_number) +
            " returned and did not wait for irp#" + std::to_string(irp->generation) +
            ", which pends: it will write to the " + (block_gone ? "status block" : "event") +
            " on a stack that is gone");
    if (!block_gone) report.found.parameters[0] = 0x0D;
    return &report.with("sent at", irp->sent_at);
}

void record_reclaim(const irp_tracker& tracker, record& irp) {
    const auto sender = tracker.waiting.find(irp.sender);
    irp.left_waiting = sender != tracker.waiting.end() ? sender->second : nullptr;
}

std::string endless_waits(const irp_tracker& tracker) {
    std::map<std::uint64_t, std::string> by_age;
    for (const auto& [address, irp] : tracker.records) {
        const auto sender = tracker.waiting.find(irp->sender);
        if (sender == tracker.waiting.end()) continue;
        if (is_bound(*irp) && irp->stage == stage::sent && irp->irp->UserEvent == sender->second)
            by_age[irp->generation] =
                hang_report(is_control(*irp) ? rule::IoBuildDeviceControlWaitTimeout
                                             : rule::IoBuildSynchronousFsdRequestWaitTimeout,
                            *irp, " is never completed, and its originator waits for its event");
        else if (irp->left_waiting == sender->second)
            by_age[irp->generation] =
                hang_report(not_woken(*irp), *irp,
                            " came back to a completion routine, which took it and did not wake "
                            "its sender");
    }
    std::string text;
    for (const auto& [generation, each] : by_age)
        text += each;
    return text;
}

} // namespace irpverbs::irp::verify
