// The report of a single simulated run with the verifier on.
#pragma once

#include <dispatch/sim_machine.hpp>
#include <irp/testing/explore.hpp>

#include <string>

namespace irpverbs::testing {

/// The report that ends a run of the body, which receives the machine; "": it passes.
template <class Body>
std::string report_of_one_run(const Body& body) {
    dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = once.shrink_budget = 0;
    const auto summary = irp::explore(once, body);
    return summary.failure ? summary.failure->what : "";
}

} // namespace irpverbs::testing
