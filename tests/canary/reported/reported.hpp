// Defects by the descriptions of an independent report: the classes in which it found this suite
// thin (freed memory, timers against running code, counts and marks without a call in between,
// three actors).
#pragma once

#include <dispatch/sim_machine.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace reported {

using outcome = std::optional<std::string>;

struct defect {
    const char* name;
    outcome (*run)(irpverbs::dispatch::sim_machine& sim);
    bool found = true;      // false: known to be missed
    const char* shows = ""; // a part of the report
    bool faults = false;    // needs allocations that fail
};

inline std::ostream& operator<<(std::ostream& out, const defect& each) { return out << each.name; }

const std::vector<defect>& freed_memory_defects();
const std::vector<defect>& race_defects();

} // namespace reported
