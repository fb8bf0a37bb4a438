// Why a command failed.
#pragma once

#include <stdexcept>
#include <string>

namespace irpctl {

/// One line for a person: what is wrong, and what to do next.
class failure : public std::runtime_error {
public:
    explicit failure(const std::string& line) : std::runtime_error(line) {}
};

/// The command line is wrong: what about it.
class wrong_usage : public std::runtime_error {
public:
    explicit wrong_usage(const std::string& what) : std::runtime_error(what) {}
};

} // namespace irpctl
