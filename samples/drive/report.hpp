// The result of a campaign as text, JSON or JUnit's XML.
#pragma once

#include <dispatch/testing/explore.hpp>

#include <string>

namespace drive {

enum class format { text, json, junit };

struct result {
    std::string driver;
    std::string script;
    irpverbs::dispatch::explore_summary summary;
};

std::string written_as(format form, const result& what);

} // namespace drive
