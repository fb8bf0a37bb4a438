// The cases of the suite.
#pragma once

#include <span>

namespace irpverbs::conformance {

class world;

/// The demands of a case on the adapter and on the variant of the driver.
enum need : unsigned {
    nothing = 0,
    port_events = 1,
    fatal_events = 2,
    completions = 4,
    dispatch_callers = 8, // verbs that do not block
};

/// The number of runs of a case: a race runs once per schedule; steps run a few times; a case over
/// many values, whose order and timing do not matter, runs about once.
enum class kind { values, steps, race };

struct test_case {
    const char* name;   // "QueryPort.WritesWhatFits"
    const char* proves; // a sentence, word for word from a file that check_contract.py names
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
extern const std::span<const test_case> memory_cases;
extern const std::span<const test_case> modify_mr_cases;
extern const std::span<const test_case> fast_registration_cases;
extern const std::span<const test_case> shared_region_cases;
extern const std::span<const test_case> modify_pmr_cases;
extern const std::span<const test_case> memory_window_cases;
extern const std::span<const test_case> address_cases;
extern const std::span<const test_case> queue_pair_cases;
extern const std::span<const test_case> shared_receive_cases;
extern const std::span<const test_case> transfer_cases;
extern const std::span<const test_case> transfer_irp_cases;
extern const std::span<const test_case> multicast_cases;
extern const std::span<const test_case> xrc_cases;
extern const std::span<const test_case> path_migration_cases;
extern const std::span<const test_case> cancel_cases;
extern const std::span<const test_case> level_cases;
extern const std::span<const test_case> user_cases;
extern const std::span<const test_case> law_cases;

} // namespace irpverbs::conformance
