#include "exploration.hpp"

#include <dispatch/testing/campaign_seeds.hpp>
#include <dispatch/testing/probe.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace irpverbs::dispatch {

namespace sim {

constexpr std::uint64_t repeat_interval = 64;
constexpr std::uint64_t calibration_runs = 8;
constexpr std::uint64_t runs_of_a_child = 256;

struct number_setting {
    const char* name;
    const char* expected;
    std::uint64_t otherwise;
    std::uint64_t least;
    std::uint64_t most;
};

constexpr std::uint64_t no_number = ~std::uint64_t{0};

constexpr number_setting runs_factor{"IRPVERBS_SEEDS", "a factor from 1 to 1000000", 1, 1,
                                     1'000'000};
constexpr number_setting first_seed{"IRPVERBS_FIRST_SEED", "a seed from 0 to 10^18", no_number, 0,
                                    1'000'000'000'000'000'000};

static std::uint64_t read_number(const number_setting& which) {
    const char* text = std::getenv(which.name);
    if (text == nullptr) return which.otherwise;
    std::uint64_t number = 0;
    const char* end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    const bool in_range = number >= which.least && number <= which.most;
    if (read.ec != std::errc() || read.ptr != end || !in_range)
        throw std::invalid_argument(std::string(which.name) + '=' + text + ": " + which.expected +
                                    " was expected");
    return number;
}

void exploration::read_environment() {
    const schedule_environment environment{std::getenv("IRPVERBS_SEED"),
                                           std::getenv("IRPVERBS_STRATEGY")};
    schedule_options defaults;
    defaults.depth = options_.pct_depth;
    defaults.expected_steps = 0; // measured when the environment does not set it
    defaults.preemption_bound = options_.preemption_bound;
    named_ = parse_schedule(environment, defaults);
    if (environment.strategy != nullptr) only_ = named_.strategy;
    only_one_ =
        only_ == strategy::replay || (environment.seed != nullptr && only_ != strategy::exhaustive);
    const std::uint64_t factor = read_number(runs_factor);
    const std::uint64_t named = read_number(first_seed);
    first_seed_ = named != no_number ? named : options_.first_seed;
    options_.random_runs *= factor;
    options_.pct_runs *= factor;
    options_.exhaustive_runs *= factor;
    options_.budget_ms =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.budget_ms * factor, 1u << 31));
    if (only_) assign_runs(*only_);
}

// A strategy that the environment names, and for which the campaign has no runs, receives the runs
// of the others.
void exploration::assign_runs(strategy named) {
    const std::uint64_t all = options_.random_runs + options_.pct_runs + options_.exhaustive_runs;
    std::uint64_t& runs = named == strategy::random ? options_.random_runs
                          : named == strategy::pct  ? options_.pct_runs
                                                    : options_.exhaustive_runs;
    if (runs == 0) runs = all;
}

explore_summary exploration::run() {
    const fatal_signals reported;
    read_environment();
    if (options_.own_process && !options_.required_probes.empty())
        throw std::invalid_argument("explore_options: required_probes can't be counted in child "
                                    "processes (own_process)");
    std::vector<std::uint64_t> hits;
    for (const std::string_view name : options_.required_probes)
        hits.push_back(probe::hits(name));
    if (only_one_) {
        run_one(named_);
    } else {
        if (options_.budget_ms != 0)
            run_by_time();
        else
            run_by_numbers();
        for (std::size_t i = 0; i < hits.size() && !summary_.failure; ++i)
            if (probe::hits(options_.required_probes[i]) == hits[i])
                summary_.missed_probes.push_back(options_.required_probes[i]);
    }
    return store_result();
}

void exploration::run_by_numbers() {
    if (wants(strategy::random)) run_random(first_seed_, options_.random_runs);
    if (wants(strategy::pct) && goes_on()) run_pct(first_seed_, options_.pct_runs);
    if (wants(strategy::exhaustive) && goes_on()) run_exhaustive();
}

explore_summary exploration::run_input(std::span<const std::uint8_t> input) {
    byte_choices source(input);
    record_run(run_by(source), summary_.random, 0, "");
    return store_result();
}

explore_summary exploration::store_result() {
    std::sort(hashes_.begin(), hashes_.end());
    summary_.distinct =
        static_cast<std::uint64_t>(std::unique(hashes_.begin(), hashes_.end()) - hashes_.begin());
    if (summary_.failure) shrink_failure();
    return std::move(summary_);
}

// A line of another program, or of an older version of this one, proves nothing when its run
// passes.
static void require_fit(const replay_choices& line, run_result& run) {
    if (run.failure || (line.unused() == 0 && line.out_of_range() == 0)) return;
    run.kind = misfit;
    run.failure = "the replay line does not fit this program: " + std::to_string(line.unused()) +
                  " of its decisions were not asked for, " + std::to_string(line.out_of_range()) +
                  " were out of range; the run itself passed";
}

void exploration::run_one(const schedule_options& which) {
    schedule_options chosen = which;
    if (chosen.expected_steps == 0) chosen.expected_steps = expected_steps();
    const std::unique_ptr<choices> source = make_choices(chosen);
    explore_summary::counts& counts =
        chosen.strategy == strategy::pct ? summary_.pct : summary_.random;
    const run_result run = make_run([&] {
        run_result made = run_with(*source);
        if (const auto* replayed = dynamic_cast<const replay_choices*>(source.get()))
            require_fit(*replayed, made);
        return made;
    });
    record_run(run, counts, chosen.seed, replay_line(chosen));
}

void exploration::run_random(std::uint64_t from, std::uint64_t runs) {
    random_choices source(0);
    schedule_options named;
    named.strategy = strategy::random;
    named.seed = from;
    run_seeds(source, named, runs, summary_.random);
}

void exploration::run_pct(std::uint64_t from, std::uint64_t runs) {
    if (runs == 0) return;
    if (named_.expected_steps == 0) named_.expected_steps = expected_steps();
    schedule_options named = named_;
    named.strategy = strategy::pct;
    named.seed = from;
    pct_choices source(0, named.depth, named.expected_steps);
    run_seeds(source, named, runs, summary_.pct);
}

// Returns the length of a run for PCT: the longest of a few runs.
std::uint32_t exploration::expected_steps() {
    std::uint64_t longest = 1;
    for (std::uint64_t seed = 0; seed < calibration_runs; ++seed) {
        random_choices source(seed);
        longest = std::max(longest, run_by(source).actor_decisions);
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(longest, 1'000'000));
}

template <class Choices>
run_result exploration::run_seed(Choices& source, std::uint64_t seed) const {
    source.restart(seed);
    run_result first = run_with(source);
    if (seed % repeat_interval != 0) return first;
    source.restart(seed);
    if (run_with(source).same_run(first) || first.failure) return first;
    first.failure = "not deterministic: the same seed gave two different runs; something beside "
                    "choices decides (a clock, an address, state kept from the last run)";
    first.kind = "not deterministic";
    first.trace = source.trace();
    return first;
}

template <class Choices>
void exploration::run_seeds(Choices& source, schedule_options named, std::uint64_t runs,
                            explore_summary::counts& counts) {
    if (options_.own_process) return run_seeds_in_children(source, named, runs, counts);
    for (const std::uint64_t end = named.seed + runs; named.seed < end; ++named.seed)
        if (!record_run(run_seed(source, named.seed), counts, named.seed, replay_line(named)))
            return;
}

// A child makes runs until one fails, or ends the child; the next begins behind that one.
template <class Choices>
void exploration::run_seeds_in_children(Choices& source, schedule_options named, std::uint64_t runs,
                                        explore_summary::counts& counts) {
    const std::uint64_t end = named.seed + runs;
    for (std::uint64_t seed = named.seed; seed < end;) {
        passed_runs passed(std::min(runs_of_a_child, end - seed));
        const run_result last = run_in_child(options_.process_time_ms, [&] {
            while (!passed.full()) {
                run_result run = run_seed(source, seed + passed.size());
                if (run.failure) return run;
                passed.add(run.hash);
            }
            return run_result{};
        });
        record_passed(passed, counts);
        seed += passed.size();
        if (!last.failure) continue;
        named.seed = seed;
        if (!record_run(last, counts, seed++, replay_line(named))) return;
    }
}

void exploration::record_passed(const passed_runs& passed, explore_summary::counts& counts) {
    counts.runs += passed.size();
    hashes_.insert(hashes_.end(), passed.hashes().begin(), passed.hashes().end());
    show_progress();
}

void exploration::show_progress() {
    if (!options_.progress || summary_.runs() < shown_ + runs_of_a_child) return;
    shown_ = summary_.runs();
    options_.progress(shown_);
}

bool exploration::record_run(const run_result& run, explore_summary::counts& counts,
                             std::uint64_t number, std::string found_by) {
    ++counts.runs;
    hashes_.push_back(run.hash);
    show_progress();
    if (!run.failure) return true;
    ++counts.failures;
    if (!counts.first_failure) counts.first_failure = number;
    if (!summary_.failure) report_failure(run, std::move(found_by));
    return !options_.stop_at_failure;
}

void exploration::report_failure(const run_result& run, std::string found_by) {
    explore_failure& failure = summary_.failure.emplace();
    failure.what = *run.failure;
    failure.found_by = std::move(found_by);
    failure.decisions_found = run.trace.size();
    failure.preemptions = run.preemptions;
    failure.trace = run.trace;
    failure_kind_ = run.kind;
}

} // namespace sim

campaign_seeds seeds_of_campaign(std::uint64_t runs) {
    const std::uint64_t named = sim::read_number(sim::first_seed);
    return {named != sim::no_number ? named : 1, runs * sim::read_number(sim::runs_factor)};
}

explore_summary detail::explore(const explore_options& options, const explore_program& program) {
    return sim::exploration(options, program).run();
}

explore_summary detail::explore_input(const explore_options& options,
                                      const explore_program& program,
                                      std::span<const std::uint8_t> input) {
    return sim::exploration(options, program).run_input(input);
}

static void append(std::string& text, const char* name, const explore_summary::counts& counts) {
    if (counts.runs == 0) return;
    if (!text.empty()) text += ", ";
    text += name + (' ' + std::to_string(counts.runs));
    if (counts.failures == 0) return;
    text += " (" + std::to_string(counts.failures) + " failed, first " +
            std::to_string(*counts.first_failure) + ')';
}

std::string explore_summary::text() const {
    std::string text;
    append(text, "random", random);
    append(text, "pct", pct);
    append(text, "exhaustive", exhaustive);
    if (exhausted)
        text += preemptions ? " (all with at most " + std::to_string(*preemptions) + " preemptions)"
                            : " (all)";
    text += text.empty() ? "no run was made" : ": " + std::to_string(distinct) + " distinct";
    for (const std::string_view name : missed_probes)
        text += "\nprobe never hit: " + std::string(name);
    if (failure) text += '\n' + failure->report;
    return text;
}

} // namespace irpverbs::dispatch
