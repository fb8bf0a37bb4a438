// Automatic path migration of a connection: ib_qp_attr_t.apm_state. Source: IBA 17.2.8.
#pragma once

#include "endpoint.hpp"

namespace irpverbs::hca_software::transport {

inline bool is_armed(const endpoint& of) { return of.attr.apm_state == IB_APM_ARMED; }

/// True if the peer sends this packet on the other path, and this end is to follow.
bool requests_migration(const endpoint& of, const packet& what);

/// Takes part in the peer's migration. True: a packet that requests one has come, on the alternate
/// path, and the paths have been exchanged.
bool follow_peer(endpoint& of, const packet& what);

/// Reports, once until the next state, that a packet which requests a migration has come on a path
/// that is not the alternate one.
void refuse_migration(endpoint& of);

/// Makes the alternate path the primary one and the other way round, and reports it. The state has
/// been IB_APM_ARMED.
void exchange_paths(endpoint& of);

/// Stores a state that a consumer requests, except IB_APM_MIGRATED in IB_APM_ARMED.
void set_migration(endpoint& of, ib_apm_state_t to);

} // namespace irpverbs::hca_software::transport
