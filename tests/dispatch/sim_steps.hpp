// Steps that the actors of the simulator's own tests take.
#pragma once

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/testing/choices.hpp>

namespace irpverbs::dispatch {

inline void points(int count) {
    for (int i = 0; i < count; ++i)
        detail::sched_point(detail::point::user);
}

inline bool park(sim_machine& machine, std::uint64_t deadline = detail::no_deadline) {
    return machine.park(detail::this_processor(), deadline);
}

inline void stall(sim_machine& machine, std::uint64_t ticks) {
    machine.stall(detail::this_processor(), ticks);
}

inline sim_machine::options logged() {
    sim_machine::options options;
    options.log = true;
    options.delays = 0; // the logs are of the steps that the tests write down
    return options;
}

} // namespace irpverbs::dispatch
