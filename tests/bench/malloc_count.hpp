#pragma once

#include <cstdint>

namespace irpverbs::bench {

// Allocations by this process so far: malloc and its relatives, hence operator new too.
std::uint64_t allocations();

} // namespace irpverbs::bench
