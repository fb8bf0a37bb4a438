// What the verifier remembers of one processor. Only the thread that is the processor touches it.
#pragma once

#include <dispatch/detail/held_locks.hpp>

#include <vector>

namespace irpverbs::dispatch::detail {

/// A rise of the IRQL that waits for its paired fall.
struct raise {
    KIRQL from;
    const void* lock; // whose acquisition raised it; null: KeRaiseIrql
    call_stack where;
};

struct verifier_state {
    std::uint32_t epoch = 0; // of the watch under which all of it was written
    std::vector<held_lock> held;
    std::vector<raise> raises;
    std::size_t floor = 0; // raises below it are those of the thread that a DPC interrupted
    bool in_dpc = false;
    std::vector<call_stack> critical_regions; // entered at
    std::vector<call_stack> guarded_regions;
};

/// Goes up when something is watched that was not before: what was remembered then has gaps.
extern std::atomic<std::uint32_t> watch_epoch;

/// The processor's memory, empty when it had gaps.
verifier_state& checks_of(processor& self);
/// The machine goes away.
void drop_checks(processor& gone);

} // namespace irpverbs::dispatch::detail
