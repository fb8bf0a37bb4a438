// IBMF's statuses and those of IRPs.
#ifndef IRPVERBS_IBMF_ENGINE_STATUS_HPP
#define IRPVERBS_IBMF_ENGINE_STATUS_HPP

#include <ibmf/detail/requests.hpp>

#include <dispatch/ntstatus.h>

namespace irpverbs::ibmf {

/// Of a verb that failed; anything in particular is the caller's to see.
inline int failure_of(NTSTATUS status) {
    return status == STATUS_INSUFFICIENT_RESOURCES ? IBMF_NO_RESOURCES : IBMF_TRANSPORT_FAILURE;
}

} // namespace irpverbs::ibmf

#endif
