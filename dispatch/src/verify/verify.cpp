#include "../machine_state.hpp"
#include "processor_checks.hpp"

#include <dispatch/detail/verify.hpp>

#include <mutex>

namespace irpverbs::dispatch::detail {

std::atomic<std::uint32_t> watched{0};
verifier_settings settings;

void set_watched(std::uint32_t bits) {
    const std::uint32_t before = watched.exchange(bits, std::memory_order_relaxed);
    if ((bits & ~before) != 0) watch_epoch.fetch_add(1, std::memory_order_relaxed);
    if (bits != 0)
        instrumentation.fetch_or(verifying_bit, std::memory_order_relaxed);
    else
        instrumentation.fetch_and(~verifying_bit, std::memory_order_relaxed);
}

void finding::keep(const char* label, const call_stack& stack) {
    for (evidence& each : stacks) {
        if (each.stack != nullptr) continue;
        kept.push_back(std::make_shared<const call_stack>(stack));
        each = {label, kept.back().get()};
        return;
    }
}

finding broken(const rule& which, std::string text, ULONG_PTR p2, ULONG_PTR p3, ULONG_PTR p4) {
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

void* machine_ledger(machine& owner, ledger_slot slot, void* (*make)(), void (*drop)(void*)) {
    machine_state& state = owner.state();
    machine_state::ledger& place = state.ledgers[static_cast<std::size_t>(slot)];
    if (void* ready = place.held.load(std::memory_order_acquire)) return ready;
    void* fresh = make();
    const std::lock_guard guard(state.lock);
    if (void* ready = place.held.load(std::memory_order_relaxed)) {
        drop(fresh);
        return ready;
    }
    place.drop = drop;
    place.held.store(fresh, std::memory_order_release);
    return fresh;
}

} // namespace irpverbs::dispatch::detail
