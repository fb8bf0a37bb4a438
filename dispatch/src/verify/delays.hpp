// Holds a thread up by chance before it takes a lock, waits or signals, so that others overtake it.
#pragma once

#include <dispatch/detail/processor.hpp>

namespace irpverbs::dispatch::detail {

/// On real machines only: the simulator has delays of its own, in virtual time.
void delay_sometimes(processor& self, point kind);

} // namespace irpverbs::dispatch::detail
