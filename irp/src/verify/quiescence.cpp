#include "quiescence.hpp"

#include "quarantine.hpp"
#include "remove_locks.hpp"

#include <algorithm>

namespace irpverbs::irp::verify {
namespace {

draft* check_sent(ledger& book, record& irp) {
    const std::string name = "irp#" + std::to_string(irp.generation);
    if (!irp.cancel_requested)
        return &book.broken(rule::LostIrp, &irp, name + " was never completed")
                    .with("sent at", irp.sent_at)
                    .with(name_of(irp.made), irp.made_at);
    return &book.broken(rule::CancelLatency, &irp, name + " was cancelled, and was never completed")
                .with("cancelled at", irp.cancelled_at)
                .with("cancel routine set at", irp.armed_at);
}

void check_irps(ledger& book, std::vector<draft*>& told) {
    std::vector<record*> left;
    for (auto& [irp, each] : book.records)
        if (!each->told && each->stage != stage::freed) left.push_back(each.get());
    std::sort(left.begin(), left.end(),
              [](const record* a, const record* b) { return a->generation < b->generation; });
    for (record* each : left) {
        if (each->stage == stage::sent && each->made != origin::found)
            told.push_back(check_sent(book, *each));
        else if (each->stage == stage::home && each->made == origin::allocated)
            told.push_back(
                &book.broken(rule::IrpLeak, each,
                             "irp#" + std::to_string(each->generation) + " was never freed")
                     .with("allocated at", each->made_at));
        else
            continue;
        each->told = true;
    }
}

void check_devices(ledger& book, std::vector<draft*>& told) {
    for (auto& [device, each] : book.devices) {
        if (each.lent == 0) continue;
        told.push_back(&book.broken(rule::DanglingDeviceObjectReference, nullptr,
                                    device_text(each.number) +
                                        ": a reference of IoGetAttachedDeviceReference was not "
                                        "given back")
                            .with("referenced at", each.lent_at));
        each.lent = 0;
    }
}

void check_freed(ledger& book, std::vector<draft*>& told) {
    while (!book.quarantine.empty())
        if (draft* wrong = let_oldest_go(book)) told.push_back(wrong);
}

} // namespace

std::uint32_t check_quiescence(ledger& book) {
    std::vector<draft*> told;
    {
        const std::lock_guard guard(book.lock);
        check_irps(book, told);
        check_devices(book, told);
        check_held_at_end(book, told);
        check_freed(book, told);
    }
    for (draft* each : told)
        tell(book, each);
    return static_cast<std::uint32_t>(told.size());
}

} // namespace irpverbs::irp::verify
