// IBMF's statuses and those of IRPs.
#ifndef IRPVERBS_IBMF_ENGINE_STATUS_HPP
#define IRPVERBS_IBMF_ENGINE_STATUS_HPP

#include <ibmf/ibmf.h>

#include <dispatch/ntstatus.h>

namespace irpverbs::ibmf {

/// Of an IRP whose transaction, or call, ended so; Information has the number itself.
NTSTATUS status_of(int ibmf_status);

/// Of a verb that failed; anything in particular is the caller's to see.
inline int failure_of(NTSTATUS status) {
    return status == STATUS_INSUFFICIENT_RESOURCES ? IBMF_NO_RESOURCES : IBMF_TRANSPORT_FAILURE;
}

} // namespace irpverbs::ibmf

#endif
