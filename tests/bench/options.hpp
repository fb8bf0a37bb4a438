#pragma once

#include "harness.hpp"

#include <string>

namespace irpverbs::bench {

struct options {
    sampling how;
    std::string filter; // regular expression over the names
    bool list = false, json = false, help = false;
    std::string error; // message about the command line; empty: none
};

options parse(int count, char** words);

extern const char* const usage; // the options and a hint

} // namespace irpverbs::bench
