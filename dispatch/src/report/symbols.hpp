// Names of return addresses, for reports.
#pragma once

#include <string>

namespace irpverbs::dispatch::detail {

/// Returns "function at file:line", or as much of it as the program's symbols provide. The first
/// call is slow.
std::string describe_address(void* address);

} // namespace irpverbs::dispatch::detail
