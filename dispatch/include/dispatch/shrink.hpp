// Shrinking: makes a failing trace small enough for a person to read.
#ifndef IRPVERBS_DISPATCH_SHRINK_HPP
#define IRPVERBS_DISPATCH_SHRINK_HPP

#include <dispatch/ntdef.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace irpverbs::dispatch {

/// Reruns the program with a trace as replay_choices' script; true: it fails in the same way.
using fails_predicate = std::function<bool(std::span<const std::uint32_t>)>;

struct shrunk {
    std::vector<std::uint32_t> trace; // fails; the one given when nothing smaller does
    std::size_t reruns = 0;
    bool reproduced = false; // false: the trace given did not fail when run again
    bool finished = false;   // false: the budget ran out before nothing more could be taken away
};

/// Looks for a smaller trace that still fails: cut the tail, turn blocks to 0 (no preemption, no
/// fault), delete blocks, lower single answers; again until nothing helps or `budget` reruns were
/// made. Deterministic. The result never is longer, nor has a larger answer at any surviving place.
/// Source: delta debugging, Zeller and Hildebrandt 2002.
NT_API shrunk shrink(std::span<const std::uint32_t> trace, const fails_predicate& fails,
                     std::size_t budget = 2000);

} // namespace irpverbs::dispatch

#endif
