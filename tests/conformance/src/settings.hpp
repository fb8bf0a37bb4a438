// The settings of a run of the suite.
#pragma once

#include "test_case.hpp"

#include <conformance/conformance.h>

#include <cstdint>
#include <string>
#include <vector>

namespace irpverbs::conformance {

struct settings {
    std::string uri;
    CONFORMANCE_ADAPTER adapter{};
    CONFORMANCE_VARIANT variant{};
    std::uint64_t seeds = 100;
    bool real = true;
    bool simulated = true;
    std::vector<std::string> filters;  // shell patterns of the cases to run; none: all
    std::vector<std::string> required; // shell patterns of the cases that must not be skipped
    std::string run_command;           // the program and its options, without the case
    std::string missing;               // reason why there is no HCA; empty: there is one
};

/// True when `name` matches one of these shell patterns.
bool matches(const std::vector<std::string>& patterns, const char* name);

} // namespace irpverbs::conformance
