// Systematic faults: a program runs until each place where resources can run short, identified by
// its call stack, has failed once, and then each pair of places.
#ifndef IRPVERBS_DISPATCH_TESTING_FAULT_SWEEP_HPP
#define IRPVERBS_DISPATCH_TESTING_FAULT_SWEEP_HPP

#include <dispatch/machine.hpp>
#include <dispatch/testing/swarm.hpp>

#include <type_traits>

namespace irpverbs::dispatch {

/// While a plan exists, `which` decides at every fault point that a thread of `where` reaches. A
/// machine has at most one plan. Neither argument is owned.
class NT_API fault_plan {
public:
    fault_plan(machine& where, sweep& which);
    ~fault_plan();
    fault_plan(const fault_plan&) = delete;
    fault_plan& operator=(const fault_plan&) = delete;

private:
    machine& where_;
};

struct fault_sweep_summary {
    std::uint64_t runs = 0;   // including the run without a fault
    std::uint64_t stacks = 0; // distinct places, by call stack
    std::uint64_t pairs = 0;  // runs with two faults planned
};

/// Calls `body()` on the calling thread's machine, or `body(sweep&)` when the body makes its own
/// machine and a fault_plan for it, until every turn was taken. Apart from the faults each run must
/// do the same. The body checks the properties that must hold in spite of the faults.
template <class Body>
fault_sweep_summary fault_sweep(Body&& body, sweep::order depth = sweep::order::pairs) {
    sweep turns(depth);
    fault_sweep_summary summary;
    do {
        if (turns.turn().size() == 2) ++summary.pairs;
        if constexpr (std::is_invocable_v<Body&, sweep&>) {
            body(turns);
        } else {
            const fault_plan plan(machine::current(), turns);
            body();
        }
    } while (turns.next());
    summary.runs = turns.runs();
    summary.stacks = turns.keys().size();
    return summary;
}

} // namespace irpverbs::dispatch

#endif
