// A ring of a client, and the posts of its messages.
#pragma once

#include <ci/support/post_ring.hpp>
#include <ci/support/posts_crossing.hpp>

#include <array>

namespace irpverbs::ual {

/// Its caller serialises all calls but has_work().
class served_ring {
public:
    enum class result { idle, worked, blocked, violation }; // the greater one decides

    /// `receives`: the ring has receives alone; otherwise it has none.
    served_ring(const ci::crossing::post_ring::client_part& of_client,
                ci::crossing::post_ring::daemon_part& own, ci::crossing::directory& objects,
                bool receives)
        : objects_(objects), receives_(receives), ring_(of_client, own) {}

    bool has_seen() const { return ring_.has_seen(); }
    /// See post_consumer.
    bool see() { return ring_.see(); }
    bool has_work() const { return ring_.has_work(); }
    bool begin_sleep() { return ring_.begin_sleep(); }
    void end_sleep() { ring_.end_sleep(); }

    /// Posts the first message that the client has passed. `blocked`: its queue is full, which a
    /// client of ours does not let happen; the rest waits in the ring.
    result post_first();

private:
    bool is_kind_of_ring(std::size_t size) const;
    result post(std::size_t size);

    ci::crossing::directory& objects_;
    const bool receives_;
    ci::crossing::post_server server_;
    ci::crossing::post_consumer ring_;
    std::uint32_t done_ = 0; // work requests of the first message that were posted
    alignas(8) std::array<std::byte, ci::crossing::post_ring::max_message> copy_{};
};

} // namespace irpverbs::ual
