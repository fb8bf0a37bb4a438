// A question to a daemon, for an attach.
#pragma once

#include <ci/support/wire.hpp>
#include <dispatch/ke.h>

#include <string>
#include <vector>

namespace irpverbs::hca_user {

/// Lists the HCAs that the daemon of a socket serves: those of a host, or all if it is empty.
/// STATUS_SUCCESS. STATUS_NO_SUCH_DEVICE: there is no daemon. STATUS_ACCESS_DENIED: it does not
/// serve this user. STATUS_REVISION_MISMATCH: it has another version. STATUS_DATA_ERROR: the socket
/// is not a daemon's. `problem` has the reason. IRQL: PASSIVE_LEVEL.
NTSTATUS list_hcas(const std::string& socket, const std::string& host,
                   std::vector<ci::wire::hca>& made, std::string& problem);

} // namespace irpverbs::hca_user
