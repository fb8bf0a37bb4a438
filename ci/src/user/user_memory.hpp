// Access to the memory of a user, at any address that the user supplied.
#pragma once

#include <dispatch/ke.h>

namespace irpverbs::ci {

/// Return false if the memory is not mapped, or can't be read or written. In mode KernelMode it is
/// always mapped.
bool read_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode);
bool write_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode);

/// A user's buffer of at most this size can be probed.
inline constexpr SIZE_T max_probed = SIZE_T{1} << 20;

/// Returns false if a page can't be written.
bool probe_user_write(void* at, SIZE_T size);

} // namespace irpverbs::ci
