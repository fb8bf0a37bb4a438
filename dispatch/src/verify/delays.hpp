// Random delays before a thread acquires a lock, waits or signals, so that other threads overtake
// it.
#pragma once

#include <dispatch/support/processor.hpp>

namespace irpverbs::dispatch::detail {

/// Delays the caller by chance. Only on real machines: the simulator has delays of its own, in
/// virtual time.
void maybe_delay(processor& self, point kind);

} // namespace irpverbs::dispatch::detail
