// Return addresses in words, for reports.
#pragma once

#include <string>

namespace irpverbs::dispatch::detail {

/// "function at file:line", or as much of it as the program's symbols tell. Slow the first time.
std::string describe_address(void* address);

} // namespace irpverbs::dispatch::detail
