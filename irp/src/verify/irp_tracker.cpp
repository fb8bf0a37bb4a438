#include "irp_tracker.hpp"

#include "cancel/cancel_lock.hpp"
#include "packet/irp_allocation.hpp"
#include "packet/poison.hpp"
#include "quarantine.hpp"
#include "waits.hpp"

#include <dispatch/support/held_locks.hpp>
#include <dispatch/support/locals.hpp>

#include <algorithm>
#include <cstdio>

namespace irpverbs::irp::verify {

namespace {
constexpr std::size_t ring_size = 20; // as in Driver Verifier's IRP log

// The end of the IRP's path so far. A routine's own address is no return address, which is behind
// its call.
std::string holder_text(const record& irp) {
    if (irp.kept_by == nullptr || irp.kept_in_epoch != irp.epoch)
        return "stack (sent at):\n" + core::describe(irp.sent_at);
    core::call_stack routine;
    routine.frames[0] = static_cast<char*>(irp.kept_by) + 1;
    routine.count = 1;
    return "  the completion routine of " + device_text(irp.kept_by_device) +
           " took it back with STATUS_MORE_PROCESSING_REQUIRED, and the driver neither completed "
           "it nor sent it on:\n" +
           core::describe(routine);
}

// The IRPs in the report of a run that hung.
void dump_outstanding(std::string& text, void* held) {
    irp_tracker& tracker = *static_cast<irp_tracker*>(held);
    const std::lock_guard guard(tracker.lock);
    std::map<std::uint64_t, const record*> by_age;
    for (const auto& [irp, each] : tracker.records)
        if (each->stage == stage::sent) by_age[each->generation] = each.get();
    for (const auto& [generation, each] : by_age)
        text += "irp#" + std::to_string(generation) + " is outstanding" +
                (each->cancel_requested ? ", and cancelled" : "") + ":\n" + each->history() +
                holder_text(*each);
    text += endless_waits(tracker);
}

} // namespace

pending_report& pending_report::with(const char* label, const core::call_stack& where) {
    if (where.count == 0 || stack_count == std::size(stacks)) return *this;
    stacks[stack_count] = where;
    found.stacks[stack_count] = {label, &stacks[stack_count]};
    ++stack_count;
    return *this;
}

pending_report& pending_report::parameters(ULONG_PTR p2, ULONG_PTR p3, ULONG_PTR p4) {
    found.parameters[1] = p2;
    found.parameters[2] = p3;
    found.parameters[3] = p4;
    return *this;
}

irp_tracker& irp_tracker::of(core::processor& self) {
    irp_tracker& tracker = core::records_of<irp_tracker>(*self.owner);
    if (tracker.configured_.load(std::memory_order_relaxed) != configuration()) tracker.begin(self);
    return tracker;
}

irp_tracker::~irp_tracker() {
    for (IRP* irp : quarantine)
        release_freed(irp);
}

void irp_tracker::begin(core::processor& self) {
    bool first = false;
    {
        const std::lock_guard guard(lock);
        const std::uint32_t now = configuration();
        const std::uint32_t before = configured_.load(std::memory_order_relaxed);
        if (before == now) return;
        first = before == 0;
        for (auto& [irp, each] : records)
            discard(std::move(each));
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

void irp_tracker::discard(std::unique_ptr<record> old) {
    if (old->references != 0) ended_records_.push_back(std::move(old));
}

void irp_tracker::dereference(record& which) {
    const std::lock_guard guard(lock);
    if (--which.references != 0) return;
    std::erase_if(ended_records_, [&](const auto& each) { return each.get() == &which; });
}

void irp_tracker::end_record(const IRP* irp) {
    const auto place = records.find(irp);
    if (place == records.end()) return;
    discard(std::move(place->second));
    records.erase(place);
}

record* irp_tracker::find(const IRP* irp) {
    const auto found = records.find(irp);
    return found == records.end() ? nullptr : found->second.get();
}

constexpr std::size_t usual_events = 8; // of a pended request: more make the history grow

record& irp_tracker::create_record(IRP* irp, origin made, CCHAR stack_count) {
    std::unique_ptr<record>& place = records[irp];
    if (place != nullptr) discard(std::move(place));
    place = std::make_unique<record>();
    place->irp = irp;
    place->generation = ++generations_;
    place->made = made;
    place->stack_count = stack_count;
    place->locations.resize(static_cast<std::size_t>(std::max<CCHAR>(stack_count, 0)));
    place->events.reserve(usual_events);
    ++counters.tracked;
    return *place;
}

record& irp_tracker::record_of(IRP* irp) {
    if (record* already = find(irp)) return *already;
    unpoison_locations(irp); // the verifier may have been configured differently when it was sent
    record& fresh = create_record(irp, origin::found, irp->StackCount);
    fresh.stage = irp->CurrentLocation <= irp->StackCount ? stage::sent : stage::with_originator;
    return fresh;
}

void irp_tracker::append_event(core::processor& self, record& irp, event what) {
    what.time = self.owner->coarse_time();
    what.actor = actor_of(self);
    what.irql = self.irql;
    what.irp = irp.generation;
    irp.append_event(what);
    if (what.device_number != 0 && enabled(check::log))
        for (auto& [which, each] : devices)
            if (each.number == what.device_number) {
                each.log.push_back(what);
                if (each.log.size() > ring_size) each.log.pop_front();
            }
    if (!enabled(check::trace)) return;
    trace.push_back(std::move(what));
    if (trace.size() <= settings.trace_limit) return;
    trace.pop_front();
    ++trace_dropped;
}

void irp_tracker::log_event(core::processor& self, record& irp, const char* what, int location,
                            std::uint32_t device_number) {
    event happened;
    happened.what = what;
    happened.location = static_cast<CCHAR>(location);
    happened.device_number = device_number;
    append_event(self, irp, std::move(happened));
}

void irp_tracker::log_event(core::processor& self, record& irp, const char* what, int location,
                            std::uint32_t device_number, NTSTATUS status) {
    event happened;
    happened.what = what;
    happened.location = static_cast<CCHAR>(location);
    happened.device_number = device_number;
    happened.status = status;
    happened.has_status = true;
    append_event(self, irp, std::move(happened));
}

device_record& irp_tracker::device(const DEVICE_OBJECT* which) {
    device_record& place = devices[which];
    if (place.number == 0) place.number = ++device_numbers_;
    return place;
}

pending_report& irp_tracker::violation(rule which, const record* irp, std::string text) {
    const rule_entry& entry = entry_of(which);
    pending_report& fresh = *pending_reports_.emplace_back(std::make_unique<pending_report>());
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

void emit(irp_tracker& tracker, pending_report* what) {
    if (what == nullptr) return;
    struct report_eraser {
        irp_tracker& tracker;
        pending_report* what;
        ~report_eraser() {
            const std::lock_guard guard(tracker.lock);
            std::erase_if(tracker.pending_reports_,
                          [this](const auto& each) { return each.get() == what; });
        }
    };
    const report_eraser afterwards{tracker, what};
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
