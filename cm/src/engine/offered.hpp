// The requests of peers that wait in a listener's backlog.
#pragma once

#include "outgoing.hpp"
#include "port_object.hpp"

#include <ci/ci.h>

#include <boost/intrusive/list.hpp>

namespace irpverbs::cm::engine {

struct client;
struct listener;

/// The cause of the end of a request that no client gets.
enum class unserved : std::uint8_t {
    closed,      // the listener
    crowded_out, // by requests of other ports
};

/// A request for a connection, or for a datagram service. Its functions are called under the port's
/// lock.
struct offered : port_object {
    /// The client gets the object, which is referenced until its close. Describes the request in
    /// `into`, and returns the object as the Information of the IRP.
    virtual ULONG_PTR give_to(client& its_owner, void* into) = 0;
    virtual void reject_unserved(unserved why, effects& fx) = 0;
    /// The port of the requester.
    virtual peer_port source() const = 0;

    listener* waits_in = nullptr;
    boost::intrusive::list_member_hook<> backlog_entry; // or in the port's remembered objects
};

} // namespace irpverbs::cm::engine
