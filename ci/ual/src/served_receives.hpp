// The receives that clients pass in their rings. Before a send is posted, all receives are that any
// client had passed earlier: a peer may know of them, and send.
#pragma once

#include "served_ring.hpp"

#include <dispatch/spin_lock.h>

#include <atomic>
#include <optional>
#include <vector>

namespace irpverbs::ual {

/// The receives of one client. The thread of each connection may post them.
class served_receives {
public:
    using result = served_ring::result;

    explicit served_receives(ci::crossing::directory& objects) : objects_(objects) {}

    /// The ring exists from now on. One call at most.
    void open(const ci::crossing::post_ring::client_part& of_client,
              ci::crossing::post_ring::daemon_part& own);
    /// No thread posts receives of this client any more. IRQL: <= DISPATCH_LEVEL.
    void close();

    /// Posts all messages that the client had passed before the call. IRQL: <= DISPATCH_LEVEL.
    result post_all();
    /// Returns when no other thread uses an object that it had found before the call. IRQL: <=
    /// DISPATCH_LEVEL.
    void await_others();

    /// As those of post_consumer. The thread of the connection calls them.
    bool begin_sleep() { return !is_open() || ring_->begin_sleep(); }
    void end_sleep() {
        if (is_open()) ring_->end_sleep();
    }

private:
    bool is_open() const { return open_.load(std::memory_order_acquire); }

    ci::crossing::directory& objects_;
    std::atomic<bool> open_{false};
    KSPIN_LOCK lock_ = 0; // guards the ring's messages; held during their posts
    std::optional<served_ring> ring_;
};

/// The receives of the other clients of a connection.
class receives_of_others {
public:
    /// IRQL: <= DISPATCH_LEVEL. Throws std::bad_alloc, without effect.
    void add(served_receives& of);
    /// After the return the thread of the connection does not use them. IRQL: <= DISPATCH_LEVEL.
    void remove(served_receives& of);
    /// Posts all messages that the others had passed before the call. IRQL: <= DISPATCH_LEVEL.
    void post_all();

private:
    KSPIN_LOCK lock_ = 0; // acquired before those of the receives
    std::vector<served_receives*> all_;
};

} // namespace irpverbs::ual
