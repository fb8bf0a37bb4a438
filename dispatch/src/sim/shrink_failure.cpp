// The report of a campaign's failure: the smallest schedule that fails in the same way.
#include "exploration.hpp"

#include <dispatch/testing/shrink.hpp>

namespace irpverbs::dispatch::sim {

// A change that adds a preemption is no step towards a smaller trace, even if it shortens it.
void exploration::shrink_trace() {
    explore_failure& failure = *summary_.failure;
    const auto fails = [&](std::span<const std::uint32_t> trace) {
        replay_choices source(std::vector<std::uint32_t>(trace.begin(), trace.end()));
        const run_result run = run_by(source);
        if (!run.failure || run.kind != failure_kind_ || run.preemptions > failure.preemptions)
            return false;
        failure.preemptions = run.preemptions;
        return true;
    };
    shrunk smallest = shrink(failure.trace, fails, options_.shrink_budget);
    failure.trace = std::move(smallest.trace);
    shrinking_runs_ += smallest.reruns;
    reproduced_ = smallest.reproduced;
}

// Changes of one trace do not lead to every schedule: one with fewer preemptions is searched for.
void exploration::search_fewer_preemptions() {
    explore_failure& failure = *summary_.failure;
    std::size_t left = options_.shrink_budget;
    for (std::uint32_t bound = 0; bound < failure.preemptions; ++bound) {
        like_failure search = search_like_failure(bound, left);
        left -= search.runs;
        shrinking_runs_ += search.runs;
        if (search.found) {
            failure.trace = std::move(search.found->trace);
            failure.preemptions = search.found->preemptions;
            return shrink_trace();
        }
        if (!search.all) return;
    }
}

// Runs the smallest schedule once more for its log.
run_result exploration::run_smallest() {
    options_.machine.log = true;
    return make_run([&] {
        replay_choices source(summary_.failure->trace);
        std::vector<decision> decisions;
        source.log_to(&decisions);
        run_result run = run_with(source);
        run.decisions = describe(decisions);
        return run;
    });
}

void exploration::shrink_failure() {
    explore_failure& failure = *summary_.failure;
    if (failure_kind_ == misfit) {
        failure.report = failure.what;
        return;
    }
    if (failure_kind_ != endless_loop && options_.shrink_budget != 0) {
        shrink_trace();
        if (reproduced_ && only_ != strategy::replay) search_fewer_preemptions();
    }
    const run_result last = run_smallest();
    const bool has_line = failure.trace.size() <= max_replay_length; // false: only found_by repeats
                                                                     // the failure
    const bool again = last.failure && last.kind == failure_kind_;
    if (has_line && again) failure.what = *last.failure;
    failure.event_log = last.log;
    failure.decisions = last.decisions;
    failure.replay = has_line && (again || failure.found_by.empty()) ? replay_line(failure.trace)
                                                                     : failure.found_by;
    failure.report =
        "replay: " + (failure.replay.empty() ? "too many decisions for a line" : failure.replay) +
        ' ' + options_.run_command + '\n' + failure.what +
        "\nfound by: " + (failure.found_by.empty() ? "no seed" : failure.found_by) + "; " +
        std::to_string(failure.decisions_found) + " decisions, " +
        std::to_string(failure.trace.size()) + " after " + std::to_string(shrinking_runs_) +
        " runs of shrinking; preemptions: " + std::to_string(failure.preemptions) +
        (again ? "" : "; WITHOUT the failure when run again") + "\ndecisions:\n" +
        failure.decisions + "events (step, time in 100 ns, actor, what):\n" + failure.event_log;
}

} // namespace irpverbs::dispatch::sim
