// From the list of cases to GoogleTest's, and how each is run.
#pragma once

#include "settings.hpp"

namespace irpverbs::conformance {

/// Every case, in the order in which they are run.
std::vector<const test_case*> all_cases();

/// Registers those that `chosen` names, for each of its machines. It must outlive the run.
void register_cases(const settings& chosen);

/// Why a case can't be tried with this adapter; empty: it can.
std::string obstacle(const settings& chosen, const test_case& which);

/// The property of a test result that holds the sentence that it proves.
inline constexpr const char* proves_property = "proves";

/// Why a case was not run after an interruption.
inline constexpr const char* interrupted_reason = "not run: interrupted";

} // namespace irpverbs::conformance
