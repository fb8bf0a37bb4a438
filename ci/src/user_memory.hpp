// Memory of a user, who may have given any address.
#pragma once

#include <dispatch/ke.h>

namespace irpverbs::ci {

/// False: it is not mapped, or not so that it can be read or written. Mode KernelMode: it is.
bool read_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode);
bool write_user(void* to, const void* from, SIZE_T size, KPROCESSOR_MODE mode);

/// A user's buffer of at most this size can be probed.
inline constexpr SIZE_T most_probed = SIZE_T{1} << 20;

/// False: some page of it can't be written.
bool probe_user_write(void* at, SIZE_T size);

} // namespace irpverbs::ci
