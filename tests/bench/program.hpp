// The frame of a program that measures: its command line, its measurements, its verdicts.
#pragma once

#include "options.hpp"
#include "verdict.hpp"

namespace irpverbs::bench {

/// Parses the command line and calls `measure`. `about` begins the text of --help: the program's
/// name and its purpose. Returns the exit status.
int run_program(int count, char** words, const char* about, int (*measure)(const options&));

/// Takes the measurements that the options name, or lists them, and prints the results. Returns the
/// exit status.
int measure_chosen(const catalog& all, const options& given, std::span<const bar> bars);

} // namespace irpverbs::bench
