// Searches of all schedules, and the campaign that is bounded by time.
#include "exploration.hpp"

#include <stdexcept>

namespace irpverbs::dispatch::sim {

namespace {

constexpr std::uint32_t most_preemptions = 2;
constexpr std::uint64_t most_schedules = 1u << 22; // of one search by time
constexpr std::uint64_t seeds_of_a_turn = 64;

bool is_over(time_limit until) { return until && std::chrono::steady_clock::now() >= *until; }

/// Calls `run_with` for one schedule after the other, until a run is the one that is looked for,
/// `passed` has no room or the time is over. No failure in the result: there was no such run.
template <class Run, class Wanted>
run_result first_wanted(std::optional<std::uint32_t> preemptions, passed_runs& passed,
                        time_limit until, const Run& run_with, const Wanted& is_wanted) {
    exhaustive_choices source(preemptions);
    while (!passed.full() && !is_over(until)) {
        run_result run = run_with(source);
        if (is_wanted(run)) return run;
        passed.add(run.hash);
        if (source.next()) continue;
        passed.set_all();
        break;
    }
    return {};
}

} // namespace

// Returns true if no schedule is left.
bool exploration::search(std::optional<std::uint32_t> preemptions, std::uint64_t most,
                         time_limit until) {
    if (options_.own_process) return search_in_child(preemptions, most, until);
    exhaustive_choices source(preemptions);
    for (std::uint64_t number = 0; number < most && !is_over(until); ++number) {
        if (!record_run(run_with(source), summary_.exhaustive, number, "")) return false;
        if (!source.next()) return true;
    }
    return false;
}

bool exploration::search_in_child(std::optional<std::uint32_t> preemptions, std::uint64_t most,
                                  time_limit until) {
    passed_runs passed(most);
    const run_result last = run_in_child(options_.process_time_ms, [&] {
        return first_wanted(
            preemptions, passed, until, [this](choices& source) { return run_with(source); },
            [](const run_result& run) { return run.failure.has_value(); });
    });
    record_passed(passed, summary_.exhaustive);
    if (last.failure) record_run(last, summary_.exhaustive, passed.size(), "");
    return passed.all();
}

exploration::like_failure exploration::search_like_failure(std::uint32_t preemptions,
                                                           std::size_t most) const try {
    like_failure end;
    if (most == 0) return end;
    passed_runs passed(most);
    const auto is_like_it = [this](const run_result& run) {
        return run.failure && run.kind == failure_kind_;
    };
    run_result last = make_run([&] {
        return first_wanted(
            preemptions, passed, {}, [this](choices& source) { return run_with(source); },
            is_like_it);
    });
    end.runs = passed.size();
    end.all = passed.all();
    if (is_like_it(last)) end.found = std::move(last);
    return end;
} catch (const std::logic_error&) { // the runs are not deterministic
    return {};
}

void exploration::run_exhaustive() {
    if (options_.exhaustive_runs == 0) return;
    summary_.preemptions = named_.preemption_bound;
    summary_.exhausted = search(named_.preemption_bound, options_.exhaustive_runs, {});
}

void exploration::search_by_preemptions(time_limit until) {
    for (std::uint32_t preemptions = 0; preemptions <= most_preemptions; ++preemptions) {
        if (!search(preemptions, most_schedules, until) || !goes_on()) return;
        summary_.exhausted = true;
        summary_.preemptions = preemptions;
    }
}

void exploration::run_by_time() {
    const auto begin = std::chrono::steady_clock::now();
    const std::chrono::milliseconds whole(options_.budget_ms);
    if (only_ == strategy::exhaustive) return search_by_preemptions(begin + whole);
    if (!only_) search_by_preemptions(begin + whole / 2);
    for (std::uint64_t seed = first_seed_; goes_on() && !is_over(begin + whole);
         seed += seeds_of_a_turn) {
        if (wants(strategy::random)) run_random(seed, seeds_of_a_turn);
        if (wants(strategy::pct) && goes_on()) run_pct(seed, seeds_of_a_turn);
    }
}

} // namespace irpverbs::dispatch::sim
