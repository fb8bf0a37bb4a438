// What a failed call of libibverbs or the kernel comes to.
#pragma once

#include <dispatch/ntstatus.h>

namespace irpverbs::hca_rdma {

/// The errno behind a result; 0: none. Providers give it back, or its negative, or -1 with errno
/// set. To be called at once.
int failure_of(long result);

/// Of a pointer.
int failure_of(const void* result);

/// The device has been taken away.
bool is_gone(int error);

NTSTATUS status_of(int error);

} // namespace irpverbs::hca_rdma
