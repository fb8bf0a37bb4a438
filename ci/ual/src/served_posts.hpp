// The work requests that a client passes in its rings, and in messages.
#pragma once

#include "ring_memory.hpp"
#include "served_receives.hpp"

#include <optional>

namespace irpverbs::ual {

/// Belongs to the thread of a connection, with the exceptions that are marked.
class served_posts {
public:
    using result = served_ring::result;

    explicit served_posts(ci::crossing::directory& objects)
        : objects_(objects), receives_(objects) {}

    /// Makes the rings. Without them, work requests come in messages alone. `passed`: the
    /// descriptors for the client (wire::open_descriptor).
    void make_rings(ring_quota& memory, ci::detail::descriptors& passed);

    /// Posts all receives in the ring, and at most `most` messages of sends.
    result post_some(unsigned most);
    /// Posts all that the client had put into the rings before the call. False: a violation.
    bool post_all();
    /// Posts the work requests of a message, which has a header, behind those in the rings. False:
    /// a violation.
    bool serve(ci::crossing::message received, ci::wire::posted& reply);

    /// True: the client wakes the daemon for later work requests. False: there are some.
    bool begin_sleep();
    void end_sleep();

    /// The ring of stores; null without rings. Made by make_rings.
    ci::crossing::store_producer* stores() { return stores_ ? &*stores_ : nullptr; }

    /// Any thread may call these.
    served_receives& receives() { return receives_; }
    receives_of_others& others() { return others_; }

private:
    void post_earlier_receives();
    result post_sends(unsigned most);
    result post_batch(unsigned& most);

    ci::crossing::directory& objects_;
    ci::crossing::post_server server_; // of messages
    ring_memory client_memory_;
    ring_memory own_memory_;
    std::optional<served_ring> sends_;
    std::optional<ci::crossing::store_producer> stores_;
    served_receives receives_;
    receives_of_others others_;
};

} // namespace irpverbs::ual
