// The keys (IO_CSQ_IRP_CONTEXT) under which IRPs wait in cancel-safe queues.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Called when a dispatch routine returned: checks that no IRP waits under a key on its stack.
/// Called under the tracker's lock.
pending_report* check_key_left(irp_tracker& tracker, const frame& mine);

} // namespace irpverbs::irp::verify
