// The type of a connection's queue pairs as REQ names it. Source: IBA 12.6.5; A14.3.2 for XRC.
#pragma once

#include <ci/qp.h>
#include <cm/messages.hpp>

#include <optional>

namespace irpverbs::cm::engine {

/// True of the types whose queue pairs request connections. Peer to peer the other end may be the
/// passive one, which has another type with XRC.
bool may_request(ib_qp_type_t type, bool peer_to_peer);

/// Sets the fields of a request for the type of the active end.
void set_transport(req_message& of, ib_qp_type_t type);

/// The number of the sender's queue pair in the reply to a request of this type: that of an XRC
/// target stands in the field of an EE context.
ib_qpn_t queue_pair_in(const rep_message& reply, ib_qp_type_t type);

/// The type that the passive end has for a request; none: the transport is not supported.
std::optional<ib_qp_type_t> passive_type(const req_message& of);

} // namespace irpverbs::cm::engine
