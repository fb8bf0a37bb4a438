// The objects of a port that events find later: at a deadline, or by a cancellation.
#pragma once

#include "times.hpp"

#include <irp/wdm.h>

#include <boost/intrusive/set.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

namespace irpverbs::cm::engine {

class effects;
enum class verb : std::uint8_t;

/// A connection, a peer's request for a datagram service, or a service id that this end resolves.
/// Its functions are called under the port's lock.
struct port_object : boost::intrusive_ref_counter<port_object> {
    port_object() = default;
    virtual ~port_object() = default;
    port_object(const port_object&) = delete;
    port_object& operator=(const port_object&) = delete;

    /// The deadline has passed, and is no longer set.
    virtual void on_time(effects& fx) = 0;
    /// A parked IRP is cancelled; `fx` completes it, now or later.
    virtual void cancelled(IRP* irp, verb which, effects& fx) = 0;

    boost::intrusive::set_member_hook<> deadline_entry;
    ticks due = 0; // while it has a deadline
};

} // namespace irpverbs::cm::engine
