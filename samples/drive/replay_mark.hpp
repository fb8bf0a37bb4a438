// The mark in a replay line, by which a line of another driver or script is recognised.
#pragma once

#include <dispatch/testing/explore.hpp>

#include <string>

namespace drive {

/// Six digits of the driver's file name, without its folders, and the script's text.
std::string mark_of(const std::string& driver, const std::string& script_text);

/// Appends the mark to the replay lines of the failure.
void add_mark(irpverbs::dispatch::explore_failure& failure, const std::string& mark);

/// Returns the strategy without its mark: "replay:r1.QRwjkLLrA". Any other strategy is returned as
/// it is. Throws std::invalid_argument if the mark is another one, or missing while `required`.
std::string without_mark(const std::string& strategy, const std::string& mark, bool required);

} // namespace drive
