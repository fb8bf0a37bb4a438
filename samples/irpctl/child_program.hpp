// A program that irpctl starts and waits for.
#pragma once

#include <string>
#include <vector>

namespace irpctl {

/// Runs `file` with `words`, its name and arguments. Signals to irpctl that would end it go to the
/// program, which then ends in its own way. Returns the exit status, or 128 and the signal that
/// ended the program, as a shell does. Throws failure if the program can't be started.
int run_child(const std::string& file, std::vector<std::string> words);

} // namespace irpctl
