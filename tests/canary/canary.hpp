// Canaries: programs with a known defect, which the suite must find within its default budget.
#pragma once

#include "fixture.hpp"

#include <ostream>
#include <vector>

namespace canary {

/// The evidence that must show a defect: the outcome of the run, a rule of the verifier, or an
/// access to freed memory that the address sanitizer reports.
enum class found_by { outcome, verifier, sanitizer };

struct defect {
    const char* name;
    const char* origin; // the published code or report with the defect
    found_by evidence;
    std::optional<std::string> (*run)(irpverbs::dispatch::sim_machine& sim);
    /// The rules under one of which the verifier reports it; empty if only the outcome shows it.
    std::vector<std::string> rules = {};
    const char* options = "default"; // the verifier's
};

inline std::ostream& operator<<(std::ostream& out, const defect& each) {
    return out << each.name << " (" << each.origin << ')';
}

const std::vector<defect>& single_slot_defects();
const std::vector<defect>& queue_defects();
const std::vector<defect>& completion_defects();
const std::vector<defect>& primitive_defects();

} // namespace canary
