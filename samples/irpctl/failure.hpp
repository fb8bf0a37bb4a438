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

} // namespace irpctl
