// The work requests that a client passes in its ring, and in messages.
#pragma once

#include "ring_memory.hpp"

#include <ci/support/post_ring.hpp>
#include <ci/support/posts_crossing.hpp>

#include <array>
#include <optional>

namespace irpverbs::ual {

/// Belongs to the thread of a connection.
class served_posts {
public:
    explicit served_posts(ci::crossing::directory& objects) : objects_(objects) {}

    /// Makes the ring. Without one, work requests come in messages alone. `passed`: the descriptors
    /// for the client (wire::open_descriptor).
    void make_ring(ring_quota& memory, ci::detail::descriptors& passed);

    enum class result { idle, worked, blocked, violation };

    /// Posts what is in the ring, at most `most` messages. `blocked`: a queue is full, which a
    /// client of ours does not let happen; the rest waits in the ring.
    result post_some(unsigned most);
    /// Posts all that the client had put into the ring before the call. False: a violation.
    bool post_all();
    /// Posts the work requests of a message, which has a header, behind those in the ring. False: a
    /// violation.
    bool serve(ci::crossing::message received, ci::wire::posted& reply);

    /// True: the client wakes the daemon for later work requests. False: there are some.
    bool begin_sleep() { return !ring_ || ring_->begin_sleep(); }
    void end_sleep() {
        if (ring_) ring_->end_sleep();
    }
    bool has_ring() const { return ring_.has_value(); }

private:
    result post_first(std::size_t size);

    ci::crossing::directory& objects_;
    ci::crossing::post_server server_;
    ring_memory client_memory_;
    ring_memory own_memory_;
    std::optional<ci::crossing::post_consumer> ring_;
    std::uint32_t done_ = 0; // work requests of the first message that were posted
    bool blocked_ = false;
    alignas(8) std::array<std::byte, ci::crossing::post_ring::max_message> copy_{};
};

} // namespace irpverbs::ual
