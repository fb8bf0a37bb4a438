// What the suite consists of.
#pragma once

#include <span>

namespace irpverbs::conformance {

class world;

/// What a case asks of the adapter and of the way in which the driver is run.
enum need : unsigned {
    nothing = 0,
    port_events = 1,
    fatal_events = 2,
    completions = 4,
    dispatch_callers = 8, // verbs that don't block
};

/// How often a case is run: a race once a schedule, steps a few times; one that goes through many
/// values, where their order and time are no matter, hardly more than once.
enum class kind { values, steps, race };

struct test_case {
    const char* name;   // "QueryPort.WritesWhatFits"
    const char* proves; // a sentence, as it stands in one of the files that check_contract.py names
    unsigned needs;
    conformance::kind kind;
    void (*body)(world& here);
};

extern const std::span<const test_case> open_cases;
extern const std::span<const test_case> close_cases;
extern const std::span<const test_case> query_cases;
extern const std::span<const test_case> modify_cases;
extern const std::span<const test_case> completion_queue_cases;
extern const std::span<const test_case> cq_results_cases;
extern const std::span<const test_case> completion_event_cases;
extern const std::span<const test_case> event_cases;
extern const std::span<const test_case> event_race_cases;
extern const std::span<const test_case> fatal_cases;
extern const std::span<const test_case> fatal_race_cases;
extern const std::span<const test_case> mad_agent_cases;
extern const std::span<const test_case> datagram_cases;
extern const std::span<const test_case> mad_qp_cases;
extern const std::span<const test_case> mad_route_cases;
extern const std::span<const test_case> cancel_cases;
extern const std::span<const test_case> level_cases;
extern const std::span<const test_case> user_cases;
extern const std::span<const test_case> law_cases;

} // namespace irpverbs::conformance
