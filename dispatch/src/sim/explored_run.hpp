// One run of a program under one schedule, from its construction to its end, whatever the end is.
#pragma once

#include "simulation.hpp"

#include <dispatch/testing/explore.hpp>

#include <optional>
#include <string>
#include <vector>

namespace irpverbs::dispatch::sim {

/// The result of a run.
struct run_result {
    std::optional<std::string> failure;
    std::string kind; // kind of failure, without the parts that differ from run to run
    std::uint64_t hash = 0;
    std::uint64_t fingerprint = 0;
    std::uint64_t actor_decisions = 0;
    std::uint32_t preemptions = 0;
    std::string log;
    std::string decisions;            // as text, where they were asked for
    std::vector<std::uint32_t> trace; // only of a failure

    bool same_run(const run_result& other) const {
        return hash == other.hash && fingerprint == other.fingerprint && kind == other.kind;
    }
};

/// The body runs on a stack of its own, which is abandoned when the run doesn't finish: a world
/// that stopped in the middle can't be torn down.
class explored_run {
public:
    explored_run(const detail::explore_program& what, choices& source,
                 const sim_machine::options& options)
        : program_(what), source_(source), options_(options) {}

    run_result run();

private:
    static fiber& on_own_stack(void* self);
    static void abort_run(void* self);
    void run_body();
    void fail(std::string kind, std::string text);
    void store_results();

    const detail::explore_program& program_;
    choices& source_;
    const sim_machine::options& options_;
    fiber caller_;
    fiber* stack_ = nullptr;
    std::optional<sim_machine> machine_;
    bool aborted_ = false;
    run_result result_;
};

} // namespace irpverbs::dispatch::sim
