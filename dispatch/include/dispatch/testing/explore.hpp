// Exploration: runs one small program under many schedules, and reports the first failure in a form
// that a programmer can read and repeat.
#ifndef IRPVERBS_DISPATCH_TESTING_EXPLORE_HPP
#define IRPVERBS_DISPATCH_TESTING_EXPLORE_HPP

#include <dispatch/machine.hpp>
#include <dispatch/testing/choices.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace irpverbs::dispatch {

/// The runs of a campaign. The environment overrides them:
///   IRPVERBS_SEEDS=N               N times as many runs, or N times the time
///   IRPVERBS_FIRST_SEED=N          seeds from N on, for campaigns side by side
///   IRPVERBS_STRATEGY=...          only that strategy (see schedule_environment); when the
///                                  campaign has no runs of it, the runs of the others. replay:
///                                  one run, which fails also when the line does not fit the
///                                  program
///   IRPVERBS_SEED=N                only the run with that seed (random, or the strategy named)
/// An unreadable value of IRPVERBS_SEEDS or IRPVERBS_FIRST_SEED throws std::invalid_argument, of
/// the others schedule_error.
struct explore_options {
    std::uint64_t random_runs = 1000;
    std::uint64_t first_seed = 0; // of random_runs and of pct_runs
    std::uint64_t pct_runs = 1000;
    std::uint32_t pct_depth = 3;
    /// Maximum number of schedules of a bounded-exhaustive search; 0: no such search.
    std::uint64_t exhaustive_runs = 0;
    /// Maximum number of preemptions in one schedule of that search; none: no limit.
    std::optional<std::uint32_t> preemption_bound;
    /// Not 0: the campaign lasts so many ms, whatever the numbers of runs above. The first half is
    /// at most for searches of all schedules with 0, 1 and 2 preemptions, which show most mistakes
    /// and the shortest; random and PCT runs follow in turn until the end.
    std::uint32_t budget_ms = 0;
    /// Is called from time to time with the number of runs so far.
    std::function<void(std::uint64_t runs)> progress;
    /// Probes that some run must hit, else the campaign fails: see IRPVERBS_PROBE. Not required of
    /// a single run.
    std::vector<std::string_view> required_probes;
    sim_machine::options machine;
    /// False: all runs are made, and the failures are counted.
    bool stop_at_failure = true;
    /// Runs of shrinking, and at most as many of the search for a failure of the same kind with
    /// fewer preemptions. 0: the failure is reported as it was found.
    std::size_t shrink_budget = 2000;
    /// True: the runs are made in child processes (fork). A run that ends its process is then a
    /// failure like others, which is shrunk, and the campaign continues; so is a run that does not
    /// end within process_time_ms, which is not shrunk. The calling process should have no other
    /// threads. An exhaustive search ends at its first failure. Not with required_probes:
    /// std::invalid_argument.
    bool own_process = false;
    /// With own_process: processor time in ms that 64 runs may take.
    std::uint32_t process_time_ms = 20'000;
    /// Text that follows the replay line: "ctest -R csq".
    std::string run_command;
};

struct explore_failure {
    std::string what;
    /// "IRPVERBS_STRATEGY=replay:...": repeats the smallest failing schedule that was found; equals
    /// found_by when that schedule has more decisions than a line holds.
    std::string replay;
    /// "IRPVERBS_SEED=58 IRPVERBS_STRATEGY=random": repeats the failure that was found first; empty
    /// when no seed determined it.
    std::string found_by;
    std::size_t decisions_found = 0;
    std::vector<std::uint32_t> trace; // after shrinking
    /// The switches of `trace` away from an actor that could have run on, delays among them.
    std::uint32_t preemptions = 0;
    std::string decisions; // the decisions of `trace` that are not plain
    std::string event_log;

    /// The whole failure as text, the replay line first.
    std::string report;
};

struct explore_summary {
    struct counts {
        std::uint64_t runs = 0;
        std::uint64_t failures = 0;
        std::optional<std::uint64_t> first_failure; // the seed, or the number of the schedule
    };
    counts random;
    counts pct;
    counts exhaustive;
    /// True: every schedule with at most `preemptions` of them was run.
    bool exhausted = false;
    std::optional<std::uint32_t> preemptions; // none: any number
    /// Number of runs with distinct events.
    std::uint64_t distinct = 0;
    std::vector<std::string_view> missed_probes;
    /// The first failure, shrunk.
    std::optional<explore_failure> failure;

    std::uint64_t runs() const { return random.runs + pct.runs + exhaustive.runs; }
    /// True: at least one run was made, none failed, and every required probe was hit.
    bool passed() const { return runs() != 0 && !failure && missed_probes.empty(); }
    /// "random 1000, pct 1000, exhaustive 462 (all with at most 2 preemptions): 731 distinct", or
    /// the failure's report.
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

/// Calls `body(sim_machine&)` once a schedule, on a thread attached to a fresh machine. The body
/// builds its world, spawns actors, calls run(), and checks the results. A run fails when the body
/// returns a text (std::optional<std::string>; the body may return void), throws, breaks a rule
/// (bug check), or when run() does not finish; in that last case run() does not return: the body
/// stops there for good and nothing of its world is destroyed. Every 64th seed runs twice, and runs
/// that differ fail: the body must depend on the machine alone, and keep no state from one run to
/// the next. The failing schedule is shrunk and run once more with its log written. A fatal signal
/// inside a run (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT), or an error that a sanitizer reports,
/// ends the process as ever, but the line that repeats the run is printed first, to stderr; with
/// own_process it is a failure.
template <class Body>
explore_summary explore(const explore_options& options, const Body& body) {
    // The lambda admits a body that is a plain function.
    const auto call = [&body](sim_machine& machine) { return body(machine); };
    return detail::explore(options, detail::program_of(call));
}

/// Makes one run whose decisions are a fuzzer's input (byte_choices), under the rules of explore().
/// The environment and the numbers of runs have no effect, and fatal signals are the fuzzer's.
template <class Body>
explore_summary explore_input(const explore_options& options, std::span<const std::uint8_t> input,
                              const Body& body) {
    const auto call = [&body](sim_machine& machine) { return body(machine); };
    return detail::explore_input(options, detail::program_of(call), input);
}

} // namespace irpverbs::dispatch

#endif
