// Shrinking: makes a failing trace small enough for a programmer to read.
#ifndef IRPVERBS_DISPATCH_TESTING_SHRINK_HPP
#define IRPVERBS_DISPATCH_TESTING_SHRINK_HPP

#include <dispatch/ntdef.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace irpverbs::dispatch {

/// Reruns the program with a trace as replay_choices' script. True: it fails in the same way.
using fails_predicate = std::function<bool(std::span<const std::uint32_t>)>;

struct shrunk {
    std::vector<std::uint32_t> trace; // a failing trace; the given one when no smaller trace fails
    std::size_t reruns = 0;
    bool reproduced = false; // false: the given trace did not fail when run again
    bool finished = false;   // false: the budget ran out while smaller traces were still untried
};

/// Searches for a smaller trace that still fails: cuts the tail, sets blocks to 0 (no preemption,
/// no fault), deletes blocks and lowers single choices, and repeats this until no step helps or
/// `budget` reruns were made. Deterministic. The result is never longer, and has no larger choice
/// at any surviving place. Source: delta debugging, Zeller and Hildebrandt 2002.
NT_API shrunk shrink(std::span<const std::uint32_t> trace, const fails_predicate& fails,
                     std::size_t budget = 2000);

} // namespace irpverbs::dispatch

#endif
