// The verifier's records of one processor. Only the thread that is the processor accesses them.
#pragma once

#include <dispatch/support/held_locks.hpp>

#include <vector>

namespace irpverbs::dispatch::detail {

/// A raise of the IRQL that waits for its paired fall.
struct raise {
    KIRQL from;
    const void* lock; // the lock whose acquisition raised it; null: KeRaiseIrql
    call_stack where;
};

struct verifier_state {
    std::uint32_t epoch = 0; // the epoch in which all records below were written
    std::vector<held_lock> held;
    std::vector<raise> raises;
    std::size_t floor = 0; // raises below this index belong to the thread that a DPC interrupted
    bool in_dpc = false;
    std::vector<call_stack> critical_regions; // where each was entered
    std::vector<call_stack> guarded_regions;
};

/// Incremented when a check is enabled that was not enabled before: the records of earlier epochs
/// have gaps.
extern std::atomic<std::uint32_t> check_epoch;

/// The time by which a simulated machine has delayed its actors so far. Delays of a real machine
/// are far below every limit, and 0 here.
std::uint64_t injected_delays(machine& where);

/// `spent` without so much of it as delays explain.
constexpr std::uint64_t without(std::uint64_t spent, std::uint64_t delays) {
    return spent > delays ? spent - delays : 0;
}

/// Returns the processor's records; they are cleared when they had gaps.
verifier_state& verifier_state_of(processor& self);

} // namespace irpverbs::dispatch::detail
