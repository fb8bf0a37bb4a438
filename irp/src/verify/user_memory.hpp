// The buffers of user mode that a METHOD_NEITHER request brings as they are.
#pragma once

#include "irp_tracker.hpp"

namespace irpverbs::irp::verify {

/// Records the buffers of the request that enters a driver, unless they are known.
void find_user_buffers(record& irp, const IO_STACK_LOCATION& next);

/// Under the tracker's lock: reports a load or store of a buffer that was not probed.
pending_report* check_user_buffer(irp_tracker& tracker, frame* within, const void* address);

} // namespace irpverbs::irp::verify
