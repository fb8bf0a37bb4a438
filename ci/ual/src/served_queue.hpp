// A completion queue whose completions a client reads in a ring.
#pragma once

#include "ring_memory.hpp"

#include <ci/driver.h>
#include <ci/support/completion_ring.hpp>

#include <memory>

namespace irpverbs::ual {

class served_connection;

/// The queue of the HCA is armed at all times. Its up-call, in the thread that has completed a work
/// request, moves the completions to the ring, and sends a message to the client if that requests
/// an event.
class served_queue {
public:
    /// False: a ring has no such size, and an HCA no such queue.
    static bool can_have(ULONG entries) { return entries != 0 && entries <= most_entries; }
    /// The ring of a queue that does not exist yet. Null: a limit is reached, or there is no
    /// memory. `passed`: the descriptors for the client (wire::cq_descriptor).
    static std::unique_ptr<served_queue> make(served_connection& owner, ring_quota& memory,
                                              ULONG entries, ci::detail::descriptors& passed);

    /// The context of the up-calls is the served_queue.
    static const IB_CQ_DISPATCH up_calls;

    /// The queue exists; its NumCqes is then what the client may count on. False: the HCA can't arm
    /// it, so its completions do not reach the ring. IRQL: <= DISPATCH_LEVEL.
    bool begin(IB_CQ* queue);
    bool begun() const { return begun_; }

    /// Prepares a ring for the queue's new size, and makes it the one in use when the size has
    /// changed; NumCqes as above. STATUS_DEVICE_BUSY: another resize is under way, as a client of
    /// ours lets none be.
    NTSTATUS prepare_resize(ULONG entries, ci::detail::descriptors& passed);
    void finish_resize(bool done);

    /// Completions in the ring. IRQL: <= DISPATCH_LEVEL.
    ULONG filled();

private:
    static constexpr ULONG most_entries = 1u << 20;

    struct ring {
        ring_memory memory;
        ULONG slots = 0;

        auto& part() const { return memory.as<ci::crossing::completion_ring::daemon_part>(); }
    };

    served_queue(served_connection& owner, ring_quota& memory, ring_memory client_part, ring first);
    static ring make_ring(ring_quota& memory, ULONG entries, ci::detail::descriptors& passed);
    static void on_completion(VOID* context);
    void grant();
    bool move();
    bool append(const IB_WC* entries, ULONG count, bool& any_solicited);
    bool must_notify(bool any_solicited);

    served_connection& owner_;
    ring_quota& memory_;
    IB_CQ* queue_ = nullptr;
    bool begun_ = false;
    const ring_memory client_part_;

    KSPIN_LOCK lock_ = 0; // guards all below
    ring now_;
    ring next_; // of a resize
    ULONG capacity_ = 0;
    ci::crossing::completion_producer producer_;
    bool overrun_ = false; // later completions are dropped
};

} // namespace irpverbs::ual
