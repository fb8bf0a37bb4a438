// One exploration: its settings, its runs so far, and the failure that it reports.
#pragma once

#include "child_runs.hpp"
#include "explored_run.hpp"
#include "fatal_signals.hpp"

#include <dispatch/testing/explore.hpp>
#include <dispatch/testing/schedule.hpp>

#include <chrono>
#include <functional>

namespace irpverbs::dispatch::sim {

/// The time from which no run begins; none: no limit.
using time_limit = std::optional<std::chrono::steady_clock::time_point>;

class exploration {
public:
    exploration(const explore_options& options, const detail::explore_program& what)
        : options_(options), program_(what) {}

    explore_summary run();
    explore_summary run_input(std::span<const std::uint8_t> input);

private:
    void read_environment();
    void assign_runs(strategy named);
    void run_one(const schedule_options& which);
    bool goes_on() const { return !summary_.failure || !options_.stop_at_failure; }
    bool wants(strategy each) const { return !only_ || only_ == each; }
    void run_by_numbers();
    void run_random(std::uint64_t from, std::uint64_t runs);
    void run_pct(std::uint64_t from, std::uint64_t runs);
    void run_exhaustive();
    void run_by_time();
    void search_by_preemptions(time_limit until);
    bool search(std::optional<std::uint32_t> preemptions, std::uint64_t most, time_limit until);
    bool search_in_child(std::optional<std::uint32_t> preemptions, std::uint64_t most,
                         time_limit until);
    std::uint32_t expected_steps();
    run_result run_with(choices& source) const {
        const fatal_signals::run under_way(source);
        return explored_run(program_, source, options_.machine).run();
    }
    /// Makes a run, in a child process if the campaign has them.
    run_result make_run(const std::function<run_result()>& make) const {
        return options_.own_process ? run_in_child(options_.process_time_ms, make) : make();
    }
    run_result run_by(choices& source) const {
        return make_run([&] { return run_with(source); });
    }
    /// False: no more runs are needed.
    bool record_run(const run_result& run, explore_summary::counts& counts, std::uint64_t number,
                    std::string found_by);
    void record_passed(const passed_runs& passed, explore_summary::counts& counts);
    template <class Choices>
    run_result run_seed(Choices& source, std::uint64_t seed) const;
    template <class Choices>
    void run_seeds_in_children(Choices& source, schedule_options named, std::uint64_t runs,
                               explore_summary::counts& counts);
    template <class Choices>
    void run_seeds(Choices& source, schedule_options named, std::uint64_t runs,
                   explore_summary::counts& counts);
    void show_progress();
    void report_failure(const run_result& run, std::string found_by);

    /// The end of a search for a failure like the reported one.
    struct like_failure {
        std::optional<run_result> found;
        std::size_t runs = 0;
        bool all = false; // no schedule is left
    };
    like_failure search_like_failure(std::uint32_t preemptions, std::size_t most) const;
    void shrink_failure();
    void shrink_trace();
    void search_fewer_preemptions();
    run_result run_smallest();
    explore_summary store_result();

    explore_options options_;
    const detail::explore_program& program_;
    schedule_options named_; // set by the environment
    bool only_one_ = false;
    std::optional<strategy> only_;
    std::uint64_t first_seed_ = 0;
    std::uint64_t shown_ = 0; // runs at the last call of options_.progress
    explore_summary summary_;
    std::vector<std::uint64_t> hashes_;
    std::string failure_kind_;
    std::size_t shrinking_runs_ = 0;
    bool reproduced_ = false; // the failure, by its trace
};

/// The kind of failure of a replay line that does not fit the program.
inline constexpr const char* misfit = "replay line does not fit";

} // namespace irpverbs::dispatch::sim
