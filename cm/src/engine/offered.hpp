// The requests of peers that wait in a listener's backlog.
#pragma once

#include "port_object.hpp"

#include <ci/ci.h>

#include <boost/intrusive/list.hpp>

namespace irpverbs::cm::engine {

struct client;
struct listener;

/// A request for a connection, or for a datagram service. Its functions are called under the port's
/// lock.
struct offered : port_object {
    /// The client gets the object, which is referenced until its close. Describes the request in
    /// `into`, and returns the object as the Information of the IRP.
    virtual ULONG_PTR give_to(client& its_owner, void* into) = 0;
    /// Rejects the request, since the listener is closed.
    virtual void reject_unserved(effects& fx) = 0;

    listener* waits_in = nullptr;
    boost::intrusive::list_member_hook<> backlog_entry;
};

} // namespace irpverbs::cm::engine
