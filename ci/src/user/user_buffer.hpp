// Copies of the buffers of a verb that is called for a user: checks and drivers use the copies
// only.
#pragma once

#include "verbs/verb.hpp"

namespace irpverbs::ci {

/// A flag of IO_STACK_LOCATION.Flags: the buffer is a copy.
inline constexpr UCHAR bounced = 1;

/// Replaces the buffer of the verb in `location` by a copy in non-paged memory. STATUS_SUCCESS,
/// also when the verb has no buffer; STATUS_ACCESS_VIOLATION, STATUS_INSUFFICIENT_RESOURCES.
NTSTATUS bounce_user_buffer(IO_STACK_LOCATION* location);

/// Copies the bytes that the verb wrote from the copy of a bounced location to the user, and frees
/// the copy. Returns the verb's status: `status`, or STATUS_ACCESS_VIOLATION.
NTSTATUS return_user_buffer(IO_STACK_LOCATION* location, const buffer_use& use, NTSTATUS status,
                            ULONG_PTR information);

} // namespace irpverbs::ci
