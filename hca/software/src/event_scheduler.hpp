// The event scheduler: events with their times, and the timer that fires for them.
#pragma once

#include "datagram.hpp"

#include <dispatch/ke.h>

#include <queue>

namespace irpverbs::hca_software {

/// Units of 100 ns since the machine started.
using machine_time = std::uint64_t;
inline constexpr machine_time microsecond = 10;

/// Guarded by the fabric's lock, except `initialize` and `run_down`.
class event_scheduler {
public:
    struct event {
        machine_time due;
        std::uint64_t order; // order of events with the same time
        packet* what;        // the packet that arrives, or null
        port* at;            // null beside a null `what`: traps are sent
        ib_qpn_t woken;      // a queue pair of the HCA of `at`; 0: the cable of `at` is repaired
    };

    event_scheduler() = default;
    event_scheduler(const event_scheduler&) = delete;
    event_scheduler& operator=(const event_scheduler&) = delete;

    /// A DPC calls `serve(context)` when an event is due.
    void initialize(PKDEFERRED_ROUTINE serve, void* context);
    /// No event is served from now on.
    void close() { closed_ = true; }
    /// Waits until no event is being served. Must be called after `close`. IRQL: PASSIVE_LEVEL.
    void run_down();

    /// Return false without memory; the event then does not occur.
    [[nodiscard]] bool post(machine_time due, packet* what) {
        return add({due, ++order_, what, nullptr, 0});
    }
    [[nodiscard]] bool post_cable_repair(machine_time due, port& cable) {
        return add({due, ++order_, nullptr, &cable, 0});
    }
    [[nodiscard]] bool post_wake(machine_time due, port& at, ib_qpn_t woken) {
        return add({due, ++order_, nullptr, &at, woken});
    }
    [[nodiscard]] bool post_traps(machine_time due) {
        return add({due, ++order_, nullptr, nullptr, 0});
    }
    /// The DPC runs soon, whether an event is due or not.
    void run_soon() {
        if (!closed_) KeInsertQueueDpc(&dpc_, nullptr, nullptr);
    }

    /// Returns the next event that is due. False: none is due, or the limit per run is reached;
    /// then the timer is set for the next run.
    bool next_due(unsigned turn, event& due);

private:
    struct later {
        bool operator()(const event& one, const event& other) const {
            return one.due != other.due ? one.due > other.due : one.order > other.order;
        }
    };

    bool add(const event& added);
    void schedule_run();

    std::priority_queue<event, std::vector<event>, later> events_;
    std::uint64_t order_ = 0;
    machine_time next_run_ = never; // time of the next run; 0: it is running
    bool closed_ = false;
    KDPC dpc_{};
    KTIMER timer_{};

    static constexpr machine_time never = ~machine_time{0};
};

} // namespace irpverbs::hca_software
