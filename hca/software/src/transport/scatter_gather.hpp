// The data segments of a work request as one sequence of bytes.
#pragma once

#include "hooks.hpp"

#include <ci/data_path.h>

namespace irpverbs::hca_software::transport {

using segments = std::span<const ib_local_ds_t>;

ULONGLONG total_length(segments list);

/// True if all segments lie in memory that their keys give access to.
bool are_accessible(memory_access& memory, segments list, ib_access_t rights);

/// Appends the bytes from `offset` on. False: a key is no longer valid.
bool gather(memory_access& memory, segments list, ULONGLONG offset, ULONG size, payload& to);

/// Writes a payload at `offset`, in ascending order. The segments have room for it. False: a key is
/// not valid, lacks IB_AC_LOCAL_WRITE, or a page is not mapped.
bool scatter(memory_access& memory, segments list, ULONGLONG offset, const payload& from);

/// Copies a payload to consecutive memory, in ascending order. False: a page is not mapped.
bool copy_payload(memory_access& memory, UCHAR* to, const payload& from);

} // namespace irpverbs::hca_software::transport
