// Exploration: runs one small program under many schedules, and makes of the first failure
// something a person can read and repeat.
#ifndef IRPVERBS_DISPATCH_EXPLORE_HPP
#define IRPVERBS_DISPATCH_EXPLORE_HPP

#include <dispatch/choices.hpp>
#include <dispatch/machine.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace irpverbs::dispatch {

/// What a campaign consists of. The environment overrides it:
///   IRPVERBS_SEEDS=N               N times as many runs
///   IRPVERBS_STRATEGY=...          only that strategy, with the runs of the others where this
///                                  campaign has none of it: see schedule_environment; replay: one
///                                  run, which fails also when the line does not fit the program
///   IRPVERBS_SEED=N                only the run with that seed (random, or the strategy named)
/// A variable that can't be read throws schedule_error, or std::invalid_argument for the first.
struct explore_options {
    std::uint64_t random_runs = 1000; // seeds 0, 1, ...
    std::uint64_t pct_runs = 1000;
    std::uint32_t pct_depth = 3;
    /// Most schedules of a bounded-exhaustive search; 0: no such search.
    std::uint64_t exhaustive_runs = 0;
    /// Its most preemptions in one schedule; none: no limit.
    std::optional<std::uint32_t> preemption_bound;
    /// Each must be hit by some run, else the campaign fails: see IRPVERBS_PROBE. Not asked of a
    /// single run.
    std::vector<std::string_view> required_probes;
    sim_machine::options machine;
    /// Otherwise all runs are made, and failures counted.
    bool stop_at_failure = true;
    std::size_t shrink_budget = 2000; // runs
    /// What follows the replay line: "ctest -R csq".
    std::string how_to_run;
};

struct explore_failure {
    std::string what;
    /// "IRPVERBS_STRATEGY=replay:...": repeats the smallest failing schedule that was found;
    /// found_by where that has more decisions than a line holds.
    std::string replay;
    /// "IRPVERBS_SEED=58 IRPVERBS_STRATEGY=random": repeats the one found first; empty when chance
    /// had no part in it.
    std::string found_by;
    std::size_t decisions_found = 0;
    std::vector<std::uint32_t> trace; // after shrinking
    std::string decisions;            // those of `trace` that are not plain
    std::string event_log;

    /// All of it as text, the replay line first.
    std::string report;
};

struct explore_summary {
    struct counts {
        std::uint64_t runs = 0;
        std::uint64_t failures = 0;
        std::optional<std::uint64_t> first_failure; // seed, or number of the schedule
    };
    counts random;
    counts pct;
    counts exhaustive;
    /// Every schedule within the bounds was run.
    bool exhausted = false;
    /// Runs that differ in their events.
    std::uint64_t distinct = 0;
    std::vector<std::string_view> missed_probes;
    /// The first one, shrunk.
    std::optional<explore_failure> failure;

    std::uint64_t runs() const { return random.runs + pct.runs + exhaustive.runs; }
    /// At least one run was made, none failed, and every required probe was hit.
    bool passed() const { return runs() != 0 && !failure && missed_probes.empty(); }
    /// "random 1000, pct 1000, exhaustive 462 (all): 731 distinct", or the failure's report.
    NT_API std::string text() const;
};

namespace detail {
using explore_body = std::optional<std::string> (*)(const void* held, sim_machine& machine);

struct explore_program {
    explore_body body;
    const void* held;
};

template <class Body>
explore_program program_of(const Body& body) {
    const explore_body call = [](const void* held,
                                 sim_machine& machine) -> std::optional<std::string> {
        const Body& callable = *static_cast<const Body*>(held);
        if constexpr (std::is_void_v<std::invoke_result_t<const Body&, sim_machine&>>) {
            callable(machine);
            return std::nullopt;
        } else {
            return callable(machine);
        }
    };
    return {call, std::addressof(body)};
}

NT_API explore_summary explore(const explore_options& options, const explore_program& program);
NT_API explore_summary explore_input(const explore_options& options, const explore_program& program,
                                     std::span<const std::uint8_t> input);

} // namespace detail

/// Calls `body(sim_machine&)` once a schedule, as a visitor of a fresh machine: it builds its
/// world, spawns actors, calls run(), and looks at what came out. A run fails when the body returns
/// a text (std::optional<std::string>; it may return void), throws, breaks a rule (bug check), or
/// run() does not finish; then run() does not return: the body stops there for good and nothing of
/// its world is destroyed. Every 64th seed runs twice, and differing runs fail: the body must draw
/// on nothing but the machine, and keep no state from one run to the next. The failing schedule is
/// shrunk and run once more with its log written.
template <class Body>
explore_summary explore(const explore_options& options, const Body& body) {
    const auto call = [&body](sim_machine& machine) { return body(machine); }; // also a function
    return detail::explore(options, detail::program_of(call));
}

/// One run whose decisions are a fuzzer's input (byte_choices), under the same rules. The
/// environment and the numbers of runs don't count.
template <class Body>
explore_summary explore_input(const explore_options& options, std::span<const std::uint8_t> input,
                              const Body& body) {
    const auto call = [&body](sim_machine& machine) { return body(machine); };
    return detail::explore_input(options, detail::program_of(call), input);
}

} // namespace irpverbs::dispatch

#endif
