// Registers the cases with GoogleTest, and runs them.
#pragma once

#include "settings.hpp"

namespace irpverbs::conformance {

/// All cases, in the order in which they run.
std::vector<const test_case*> all_cases();

/// Registers the cases that `chosen` names, for each of its machines. `chosen` must outlive the
/// run.
void register_cases(const settings& chosen);

/// The reason why a case cannot run with this adapter; empty: it can.
std::string obstacle(const settings& chosen, const test_case& which);

/// The property of a test result that holds the sentence that the case proves.
inline constexpr const char* proves_property = "proves";

/// The reason of a case that was skipped after an interruption.
inline constexpr const char* interrupted_reason = "not run: interrupted";

} // namespace irpverbs::conformance
