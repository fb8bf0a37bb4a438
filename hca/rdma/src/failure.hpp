// Errors of libibverbs and of the kernel, as statuses.
#pragma once

#include <dispatch/ntstatus.h>

namespace irpverbs::hca_rdma {

/// Returns the errno behind a result; 0: none. Providers return it, or its negative, or -1 with
/// errno set. To be called directly after the failed call.
int failure_of(long result);

/// Returns the errno behind a null pointer.
int failure_of(const void* result);

/// True if the device has been removed.
bool is_gone(int error);

NTSTATUS status_of(int error);

} // namespace irpverbs::hca_rdma
