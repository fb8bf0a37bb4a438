// Accesses that block.
#pragma once

#include <saa/support/requests.hpp>

namespace irpverbs::saa {

/// Returns the status; request.records has the records. IRQL: PASSIVE_LEVEL, otherwise
/// IBMF_INVALID_ARG.
int access_and_wait(detail::access_request& request, ibmf_saa_handle_t handle,
                    const ibmf_saa_access_args_t& args, uint_t flags);

} // namespace irpverbs::saa
