// The frame of a program that measures: its command line, its measurements, its verdicts.
#pragma once

#include "options.hpp"
#include "verdict.hpp"

#include <span>
#include <vector>

namespace irpverbs::bench {

/// Parses the command line and calls `measure`. `about` begins the text of --help: the program's
/// name and its purpose. Returns the exit status.
int run_program(int count, char** words, const char* about, int (*measure)(const options&));

/// The measurements that the options name; none: a message was printed. May throw std::regex_error.
std::vector<measurement> chosen(const catalog& all, const options& given);

/// Takes the measurements, or lists them, and prints the results. Returns the exit status.
int measure_and_judge(const std::vector<measurement>& wanted, const options& given,
                      std::span<const bar> which);

} // namespace irpverbs::bench
