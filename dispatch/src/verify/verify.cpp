#include "machine/machine_state.hpp"
#include "processor_checks.hpp"

#include <dispatch/support/locals.hpp>
#include <dispatch/support/verify.hpp>

#include <mutex>

namespace irpverbs::dispatch::detail {

std::atomic<std::uint32_t> enabled_checks{0};
verifier_settings settings;

void set_enabled_checks(std::uint32_t bits) {
    const std::uint32_t before = enabled_checks.exchange(bits, std::memory_order_relaxed);
    if ((bits & ~before) != 0) check_epoch.fetch_add(1, std::memory_order_relaxed);
    if (bits != 0)
        instrumentation.fetch_or(verifying_bit, std::memory_order_relaxed);
    else
        instrumentation.fetch_and(~verifying_bit, std::memory_order_relaxed);
}

void finding::add_stack(const char* label, const call_stack& stack) {
    for (evidence& each : stacks) {
        if (each.stack != nullptr) continue;
        copies.push_back(std::make_shared<const call_stack>(stack));
        each = {label, copies.back().get()};
        return;
    }
}

finding make_finding(const rule& which, std::string text, ULONG_PTR p2, ULONG_PTR p3,
                     ULONG_PTR p4) {
    finding found;
    found.code = which.code;
    found.rule = which.name;
    found.parameters[0] = which.id;
    found.parameters[1] = p2;
    found.parameters[2] = p3;
    found.parameters[3] = p4;
    found.text = std::move(text);
    return found;
}

void* machine_records(machine& owner, std::size_t index, void* (*make)(), void (*drop)(void*)) {
    machine_state& state = owner.state();
    machine_state::record_entry& entry = state.records[index];
    if (void* ready = entry.held.load(std::memory_order_acquire)) return ready;
    void* fresh = make();
    const std::lock_guard guard(state.lock);
    if (void* ready = entry.held.load(std::memory_order_relaxed)) {
        drop(fresh);
        return ready;
    }
    entry.drop = drop;
    entry.held.store(fresh, std::memory_order_release);
    return fresh;
}

} // namespace irpverbs::dispatch::detail
