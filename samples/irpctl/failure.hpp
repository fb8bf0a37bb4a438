// The exceptions of failed commands.
#pragma once

#include <stdexcept>
#include <string>

namespace irpctl {

/// One line for a person: the problem, and the next step.
class failure : public std::runtime_error {
public:
    explicit failure(const std::string& line) : std::runtime_error(line) {}
};

/// The command line is wrong; `what` is the problem.
class wrong_usage : public std::runtime_error {
public:
    explicit wrong_usage(const std::string& what) : std::runtime_error(what) {}
};

} // namespace irpctl
