#include "quiescence.hpp"

#include "quarantine.hpp"
#include "remove_locks.hpp"

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

pending_report* check_sent(irp_tracker& tracker, record& irp) {
    const std::string name = "irp#" + std::to_string(irp.generation);
    if (!irp.cancel_requested)
        return &tracker.violation(rule::LostIrp, &irp, name + " was never completed")
                    .with("sent at", irp.sent_at)
                    .with(name_of(irp.made), irp.made_at);
    return &tracker
                .violation(rule::CancelLatency, &irp,
                           name + " was cancelled, and was never completed")
                .with("cancelled at", irp.cancelled_at)
                .with("cancel routine set at", irp.armed_at);
}

void check_irps(irp_tracker& tracker, std::vector<pending_report*>& reports) {
    std::vector<record*> left;
    for (auto& [irp, each] : tracker.records)
        if (!each->reported && each->stage != stage::freed) left.push_back(each.get());
    std::sort(left.begin(), left.end(),
              [](const record* a, const record* b) { return a->generation < b->generation; });
    for (record* each : left) {
        if (each->stage == stage::sent && each->made != origin::found)
            reports.push_back(check_sent(tracker, *each));
        else if (each->stage == stage::with_originator && each->made == origin::allocated)
            reports.push_back(
                &tracker
                     .violation(rule::IrpLeak, each,
                                "irp#" + std::to_string(each->generation) + " was never freed")
                     .with("allocated at", each->made_at));
        else
            continue;
        each->reported = true;
    }
}

void check_devices(irp_tracker& tracker, std::vector<pending_report*>& reports) {
    for (auto& [device, each] : tracker.devices) {
        if (each.references == 0) continue;
        reports.push_back(
            &tracker
                 .violation(rule::DanglingDeviceObjectReference, nullptr,
                            device_text(each.number) +
                                ": a reference of IoGetAttachedDeviceReference was not "
                                "released")
                 .with("referenced at", each.referenced_at));
        each.references = 0;
    }
}

void check_freed(irp_tracker& tracker, std::vector<pending_report*>& reports) {
    while (!tracker.quarantine.empty())
        if (pending_report* wrong = release_oldest(tracker)) reports.push_back(wrong);
}

} // namespace

std::uint32_t check_quiescence(irp_tracker& tracker) {
    std::vector<pending_report*> reports;
    {
        const std::lock_guard guard(tracker.lock);
        check_irps(tracker, reports);
        check_devices(tracker, reports);
        check_held_at_end(tracker, reports);
        check_freed(tracker, reports);
    }
    for (pending_report* each : reports)
        emit(tracker, each);
    return static_cast<std::uint32_t>(reports.size());
}

} // namespace irpverbs::irp::verify
