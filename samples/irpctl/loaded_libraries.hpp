// The libraries of a program, as the loader would find them.
#pragma once

#include <string>
#include <vector>

namespace irpctl {

/// Returns the paths of the libraries that the loader loads before the program's main, without
/// starting the program. Empty for a script and for a program without the loader.
std::vector<std::string> loaded_libraries(const std::string& program);

} // namespace irpctl
