// Canaries: programs with a known defect, which the suite must find within its default budget.
#pragma once

#include "world.hpp"

#include <ostream>
#include <vector>

namespace canary {

/// Where a defect shows at least: what came out of the run, or a rule of the verifier, or memory
/// that is not the program's any more (address sanitizer); or a rule of the verifier, but the
/// sanitizer, where there is one, stops the program before.
enum class found_by { outcome, verifier, sanitizer, verifier_or_sanitizer };

struct defect {
    const char* name;
    const char* origin; // where the world met it
    found_by evidence;
    std::optional<std::string> (*run)(irpverbs::dispatch::sim_machine& sim);
    /// Under which of them the verifier reports it; none: it sees nothing, only the outcome tells.
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
