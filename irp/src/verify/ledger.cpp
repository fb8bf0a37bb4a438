#include "ledger.hpp"

#include "../cancel_lock.hpp"
#include "../packet.hpp"
#include "quarantine.hpp"
#include "veil.hpp"
#include "waits.hpp"

#include <dispatch/detail/held_locks.hpp>

#include <algorithm>
#include <cstdio>

namespace irpverbs::irp::verify {

namespace {
constexpr std::size_t ring_size = 20; // as in Driver Verifier's IRP log

// The IRPs in the report of a hung or broken run.
void dump_outstanding(std::string& text, void* held) {
    ledger& book = *static_cast<ledger*>(held);
    const std::lock_guard guard(book.lock);
    std::map<std::uint64_t, const record*> by_age;
    for (const auto& [irp, each] : book.records)
        if (each->stage == stage::sent) by_age[each->generation] = each.get();
    for (const auto& [generation, each] : by_age)
        text += "irp#" + std::to_string(generation) + " is outstanding" +
                (each->cancel_requested ? ", and cancelled" : "") + ":\n" + each->history();
    text += waits_without_end(book);
}

} // namespace

draft& draft::with(const char* label, const core::call_stack& where) {
    if (where.count == 0 || stack_count == std::size(stacks)) return *this;
    stacks[stack_count] = where;
    found.stacks[stack_count] = {label, &stacks[stack_count]};
    ++stack_count;
    return *this;
}

draft& draft::parameters(ULONG_PTR p2, ULONG_PTR p3, ULONG_PTR p4) {
    found.parameters[1] = p2;
    found.parameters[2] = p3;
    found.parameters[3] = p4;
    return *this;
}

ledger& ledger::of(core::processor& self) {
    ledger& book = core::ledger_of<ledger>(*self.owner, core::ledger_slot::irp);
    if (book.configured_.load(std::memory_order_relaxed) != configuration()) book.begin(self);
    return book;
}

ledger::~ledger() {
    for (IRP* irp : quarantine)
        let_go(irp);
}

void ledger::begin(core::processor& self) {
    bool first = false;
    {
        const std::lock_guard guard(lock);
        const std::uint32_t now = configuration();
        const std::uint32_t before = configured_.load(std::memory_order_relaxed);
        if (before == now) return;
        first = before == 0;
        for (auto& [irp, each] : records)
            retire(std::move(each));
        records.clear();
        remove_locks.clear();
        waiting.clear();
        devices.clear();
        trace.clear();
        trace_dropped = 0;
        configured_.store(now, std::memory_order_relaxed);
    }
    if (!first) return;
    core::name_lock(&cancel_lock_of(self), "cancel spin lock");
    if (self.owner->simulated())
        static_cast<dispatch::sim_machine*>(self.owner)->add_state_dumper(dump_outstanding, this);
}

void ledger::retire(std::unique_ptr<record> old) {
    if (old->references != 0) past_.push_back(std::move(old));
}

void ledger::release(record& which) {
    const std::lock_guard guard(lock);
    if (--which.references != 0) return;
    std::erase_if(past_, [&](const auto& each) { return each.get() == &which; });
}

void ledger::forget(const IRP* irp) {
    const auto place = records.find(irp);
    if (place == records.end()) return;
    retire(std::move(place->second));
    records.erase(place);
}

record* ledger::find(const IRP* irp) {
    const auto found = records.find(irp);
    return found == records.end() ? nullptr : found->second.get();
}

record& ledger::born(IRP* irp, origin made, CCHAR stack_count) {
    std::unique_ptr<record>& place = records[irp];
    if (place != nullptr) retire(std::move(place));
    place = std::make_unique<record>();
    place->irp = irp;
    place->generation = ++generations_;
    place->made = made;
    place->stack_count = stack_count;
    place->levels.resize(static_cast<std::size_t>(std::max<CCHAR>(stack_count, 0)));
    ++counted.tracked;
    return *place;
}

record& ledger::known(IRP* irp) {
    if (record* already = find(irp)) return *already;
    unveil_locations(irp); // the verifier may have been configured differently when it was sent
    record& fresh = born(irp, origin::found, irp->StackCount);
    fresh.stage = irp->CurrentLocation <= irp->StackCount ? stage::sent : stage::home;
    return fresh;
}

void ledger::remember(core::processor& self, record& irp, event what) {
    what.time = self.owner->coarse_time();
    what.actor = actor_of(self);
    what.irql = self.irql;
    what.irp = irp.generation;
    irp.remember(what);
    if (what.device_number != 0 && watching(watch::log))
        for (auto& [which, each] : devices)
            if (each.number == what.device_number) {
                each.log.push_back(what);
                if (each.log.size() > ring_size) each.log.pop_front();
            }
    if (!watching(watch::trace)) return;
    trace.push_back(std::move(what));
    if (trace.size() <= settings.trace_limit) return;
    trace.pop_front();
    ++trace_dropped;
}

void ledger::note(core::processor& self, record& irp, const char* what, int location,
                  std::uint32_t device_number) {
    event happened;
    happened.what = what;
    happened.location = static_cast<CCHAR>(location);
    happened.device_number = device_number;
    remember(self, irp, std::move(happened));
}

void ledger::note(core::processor& self, record& irp, const char* what, int location,
                  std::uint32_t device_number, NTSTATUS status) {
    event happened;
    happened.what = what;
    happened.location = static_cast<CCHAR>(location);
    happened.device_number = device_number;
    happened.status = status;
    happened.has_status = true;
    remember(self, irp, std::move(happened));
}

device_record& ledger::device(const DEVICE_OBJECT* which) {
    device_record& place = devices[which];
    if (place.number == 0) place.number = ++device_numbers_;
    return place;
}

draft& ledger::broken(rule which, const record* irp, std::string text) {
    const rule_entry& entry = entry_of(which);
    draft& fresh = *drafts_.emplace_back(std::make_unique<draft>());
    fresh.found.code = entry.code;
    fresh.found.rule = entry.name;
    fresh.found.parameters[0] = entry.id;
    fresh.found.text = std::move(text) + "\nthe rule: " + entry.meaning;
    if (irp == nullptr) return fresh;
    fresh.found.history = irp->history();
    if (entry.id == 0) fresh.found.parameters[0] = reinterpret_cast<ULONG_PTR>(irp->irp);
    fresh.parameters(reinterpret_cast<ULONG_PTR>(irp->irp));
    const bool sent = irp->sent_at.count != 0;
    fresh.last_known = sent ? "sent at" : name_of(irp->made);
    fresh.last_known_at = sent ? irp->sent_at : irp->made_at;
    return fresh;
}

void tell(ledger& book, draft* what) {
    if (what == nullptr) return;
    struct told {
        ledger& book;
        draft* what;
        ~told() {
            const std::lock_guard guard(book.lock);
            std::erase_if(book.drafts_, [this](const auto& each) { return each.get() == what; });
        }
    };
    const told afterwards{book, what};
    if (what->stack_count == 0) what->with(what->last_known, what->last_known_at);
    core::report(what->found);
}

std::string actor_of(const core::processor& self) {
    if (self.owner->simulated())
        return std::string(static_cast<dispatch::sim_machine*>(self.owner)->actor_name());
    return "processor " + std::to_string(self.number);
}

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(value));
    return text;
}

std::string status_text(NTSTATUS status) {
    const char* name = NtStatusName(status);
    return name != nullptr ? name : hex(static_cast<std::uint32_t>(status));
}

std::string device_text(std::uint32_t number) { return "device#" + std::to_string(number); }

} // namespace irpverbs::irp::verify
