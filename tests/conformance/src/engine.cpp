#include "engine.hpp"

#include "interruption.hpp"
#include "real_run.hpp"
#include "world.hpp"

#include <irp/verifier.h>
#include <support/explore_gtest.hpp>

#include <fnmatch.h>
#include <optional>

namespace irpverbs::conformance {

namespace {

// On real threads races meet only by chance: a few dozen runs suffice, for any number of simulated
// ones.
constexpr std::uint64_t most_real_runs = 20;

std::uint64_t random_schedules(kind what, std::uint64_t seeds) {
    switch (what) {
    case kind::values:
        return 1;
    case kind::steps:
        return std::max<std::uint64_t>(1, seeds / 20);
    case kind::race:
        break;
    }
    return seeds;
}

/// Runs the case once, on the caller's machine; returns the reason if it was skipped.
std::optional<std::string> play(const settings& chosen, const test_case& which) {
    std::optional<std::string> reason;
    try {
        world here(chosen);
        which.body(here);
    } catch (const skipped& what) {
        reason = what.reason;
    } catch (const abandoned&) { // already reported as a failure
    }
    VerifierCheckQuiescence();
    return reason;
}

class conformance_test : public ::testing::Test {
public:
    conformance_test(const settings& chosen, const test_case& which, bool simulated)
        : settings_(chosen), case_(which), simulated_(simulated) {}

private:
    void TestBody() override {
        if (interruption() != 0) GTEST_SKIP() << interrupted_reason;
        RecordProperty(proves_property, case_.proves);
        std::string reason = obstacle(settings_, case_);
        if (reason.empty()) reason = simulated_ ? simulate() : run_for_real();
        if (reason.empty()) return;
        if (matches(settings_.required, case_.name)) FAIL() << "required, and skipped: " << reason;
        GTEST_SKIP() << reason;
    }

    // The first run shows whether the driver supports the subject of the case.
    std::string simulate() {
        dispatch::explore_options options;
        options.run_command = settings_.run_command + " --machine simulated --filter " + case_.name;
        options.random_runs = 1;
        options.pct_runs = 0;
        std::optional<std::string> reason;
        const auto body = [&](dispatch::sim_machine& sim) {
            sim.spawn("case", [&] { reason = play(settings_, case_); });
            sim.run();
        };
        testing::expect_all_explored(options, body);
        if (reason || HasFailure()) return reason.value_or("");
        options.random_runs = options.pct_runs = random_schedules(case_.kind, settings_.seeds);
        options.exhaustive_runs = case_.kind == kind::race ? settings_.seeds : 0;
        options.preemption_bound = 2;
        testing::expect_all_explored(options, body);
        return {};
    }

    std::string run_for_real() {
        const std::uint64_t runs =
            case_.kind == kind::race ? std::min(settings_.seeds, most_real_runs) : 1;
        std::optional<std::string> reason;
        for (std::uint64_t i = 0; i < runs && !reason && !HasFailure(); ++i)
            real_run([&] { reason = play(settings_, case_); });
        return reason.value_or("");
    }

    const settings& settings_;
    const test_case& case_;
    bool simulated_;
};

void register_case(const settings& chosen, const test_case& which, bool simulated) {
    const std::string name = which.name;
    const std::size_t dot = name.find('.');
    const std::string test = name.substr(dot + 1) + (simulated ? "/simulated" : "/real");
    ::testing::RegisterTest(name.substr(0, dot).c_str(), test.c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [&chosen, &which, simulated]() -> ::testing::Test* {
                                return new conformance_test(chosen, which, simulated);
                            });
}

} // namespace

std::vector<const test_case*> all_cases() {
    std::vector<const test_case*> all;
    for (const std::span<const test_case>& part : {open_cases,
                                                   close_cases,
                                                   query_cases,
                                                   modify_cases,
                                                   completion_queue_cases,
                                                   cq_results_cases,
                                                   completion_event_cases,
                                                   event_cases,
                                                   event_race_cases,
                                                   fatal_cases,
                                                   fatal_race_cases,
                                                   mad_agent_cases,
                                                   datagram_cases,
                                                   mad_qp_cases,
                                                   mad_route_cases,
                                                   memory_cases,
                                                   modify_mr_cases,
                                                   fast_registration_cases,
                                                   shared_region_cases,
                                                   modify_pmr_cases,
                                                   memory_window_cases,
                                                   address_cases,
                                                   queue_pair_cases,
                                                   shared_receive_cases,
                                                   transfer_cases,
                                                   transfer_irp_cases,
                                                   multicast_cases,
                                                   xrc_cases,
                                                   path_migration_cases,
                                                   cancel_cases,
                                                   level_cases,
                                                   user_cases,
                                                   law_cases})
        for (const test_case& each : part)
            all.push_back(&each);
    return all;
}

bool matches(const std::vector<std::string>& patterns, const char* name) {
    for (const std::string& each : patterns)
        if (fnmatch(each.c_str(), name, 0) == 0) return true;
    return false;
}

std::string obstacle(const settings& chosen, const test_case& which) {
    const CONFORMANCE_ADAPTER& by = chosen.adapter;
    if (!chosen.missing.empty()) return chosen.missing;
    if ((which.needs & port_events) != 0 && by.RaisePortEvent == nullptr)
        return "the adapter can't raise port events";
    if ((which.needs & fatal_events) != 0 && by.Fail == nullptr)
        return "the adapter can't make the HCA fail";
    if ((which.needs & completions) != 0 && by.Complete == nullptr)
        return "the adapter can't put completions into a queue";
    if ((which.needs & dispatch_callers) != 0 && chosen.variant.Blocks)
        return std::string("verbs block in variant ") + chosen.variant.Name;
    return {};
}

void register_cases(const settings& chosen) {
    for (const bool simulated : {true, false}) {
        if (simulated ? !chosen.simulated : !chosen.real) continue;
        for (const test_case* each : all_cases())
            if (chosen.filters.empty() || matches(chosen.filters, each->name))
                register_case(chosen, *each, simulated);
    }
}

} // namespace irpverbs::conformance
