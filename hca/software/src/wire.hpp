// What is under way: each thing with the time when it happens, and the timer that sees to it.
#pragma once

#include "datagram.hpp"

#include <dispatch/ke.h>

#include <queue>

namespace irpverbs::hca_software {

/// Units of 100 ns since the machine started.
using machine_time = std::uint64_t;
inline constexpr machine_time microsecond = 10;

/// Guarded by the fabric's lock, but for `prepare` and `run_down`.
class wire {
public:
    struct event {
        machine_time due;
        std::uint64_t order; // of those due at the same time
        packet* what;        // arrives; or null:
        port* mended;        // its cable is mended; or null: traps are to be sent
    };

    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    /// `serve(context)` is called in a DPC when something is due.
    void prepare(PKDEFERRED_ROUTINE serve, void* context);
    /// Nothing is served from now on.
    void close() { closed_ = true; }
    /// Waits until nothing is being served, after `close`. IRQL: PASSIVE_LEVEL.
    void run_down();

    void post(machine_time due, packet* what) { add({due, ++order_, what, nullptr}); }
    void post_mending(machine_time due, port& cable) { add({due, ++order_, nullptr, &cable}); }
    void post_traps(machine_time due) { add({due, ++order_, nullptr, nullptr}); }

    /// The next thing that is due; false: none, or it has been enough for one turn. Then the
    /// next turn is seen to.
    bool take(unsigned turn, event& due);

private:
    struct later {
        bool operator()(const event& one, const event& other) const {
            return one.due != other.due ? one.due > other.due : one.order > other.order;
        }
    };

    void add(const event& coming);
    void serve_when_due();

    std::priority_queue<event, std::vector<event>, later> coming_;
    std::uint64_t order_ = 0;
    machine_time set_for_ = never; // when it is served next; 0: it is being served
    bool closed_ = false;
    KDPC dpc_{};
    KTIMER timer_{};

    static constexpr machine_time never = ~machine_time{0};
};

} // namespace irpverbs::hca_software
