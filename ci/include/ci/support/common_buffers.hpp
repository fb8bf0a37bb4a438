// The common buffers of this process, for drivers that pass them to another one.
#pragma once

#include <ci/support/seq_socket.hpp>
#include <dispatch/ntdef.h>

namespace irpverbs::ci {

/// Returns a descriptor of the common buffer that holds all of these bytes, and the `offset` of the
/// first one. None: no buffer does, or no descriptor is left. IRQL: any.
detail::unique_descriptor common_buffer_of(const void* address, ULONGLONG size, ULONGLONG& offset);

} // namespace irpverbs::ci
