// Conversion between IBMF's statuses and those of IRPs.
#ifndef IRPVERBS_IBMF_ENGINE_STATUS_HPP
#define IRPVERBS_IBMF_ENGINE_STATUS_HPP

#include <ibmf/support/requests.hpp>

#include <dispatch/ntstatus.h>

namespace irpverbs::ibmf {

/// The IBMF_ status of a failed verb. Callers handle specific statuses before.
inline int failure_of(NTSTATUS status) {
    return status == STATUS_INSUFFICIENT_RESOURCES ? IBMF_NO_RESOURCES : IBMF_TRANSPORT_FAILURE;
}

} // namespace irpverbs::ibmf

#endif
