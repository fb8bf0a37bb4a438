// The schedule of sweeps, and the result of the last one.
#pragma once

#include "heavy_sweep.hpp"
#include "port_audit.hpp"
#include "switch_poll.hpp"
#include "table_audit.hpp"

#include <basics.hpp>

#include <memory>
#include <optional>
#include <set>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue.
class sweeper {
public:
    /// The observer of the subnet.
    struct observer {
        /// Called after each sweep; `before` is null at the first one.
        std::function<void(const subnet* before)> swept;
        /// Called before unreachable end ports are removed from the subnet.
        std::function<void(std::span<const port_ref> lost)> going;
        std::function<void()> gone; // called after their removal
    };

    sweeper(smp_channel& smps, sweep_plan plan, sweep_rules rules, machine_time light_interval,
            observer its_observer)
        : smps_(smps), plan_(std::move(plan)), rules_(std::move(rules)),
          light_interval_(light_interval), observer_(std::move(its_observer)) {}

    /// Begins a heavy sweep; a running sweep is followed by another.
    void begin_heavy_sweep();

    /// Begins a sweep for causes that other nodes control: a few at once, then one per second.
    void request_heavy_sweep();

    /// Handles a link state trap of the switch with that LID. Polls its ports, unless another
    /// activity runs, and removes unreachable ones from the subnet at once. A sweep follows when
    /// there are other changes.
    void on_link_state_trap(ib_lid_t lid);

    /// Begins a light sweep of the switches and the other managers, unless an activity runs.
    void begin_light_sweep();

    /// Invalidates the programmed state after another manager's writes, and begins a sweep.
    void invalidate_programmed_state();

    /// Begins a sweep that requests the clients of the port to register again.
    void reregister(ib_guid_t port);

    /// Schedules a sweep after a refused table, as after an incomplete sweep.
    void schedule_retry();

    /// Begins the activity that is due: a sweep after an incomplete one, or a light sweep, which
    /// polls the switches for changes.
    void tick(machine_time now);

    /// Begins no further activity; a running one ends with its SMPs.
    void stop() { stopped_ = true; }

    /// Returns the current subnet; null before the end of the first sweep.
    const subnet* current() const { return current_.get(); }
    programmed_state& programmed() { return programmed_; }
    bool incomplete() const { return incomplete_; }
    std::uint64_t sweeps() const { return sweeps_; }

private:
    enum class activity { none, polling_switch, heavy_sweep, light_sweep };

    void begin();
    void sweep_done();
    void poll_next_switch();
    void begin_switch_poll(node_index at);
    void confirm_next();
    bool remove_unreachable(const port_changes& found);
    void switch_poll_done(bool sweeps);
    void light_sweep();
    void poll_switches();
    void poll_master();
    void light_sweep_done();
    void wait_for_port();
    void refill(machine_time now);

    smp_channel& smps_;
    const sweep_plan plan_;
    const sweep_rules rules_;
    const machine_time light_interval_;
    const observer observer_;
    programmed_state programmed_;
    table_audit table_audit_{programmed_};
    port_audit port_audit_;
    std::unique_ptr<heavy_sweep> running_;
    std::unique_ptr<switch_poll> switch_poll_;
    // Switches of current_:
    std::set<node_index> reported_switches_; // to be polled
    std::set<node_index> unconfirmed_;       // change bit not cleared yet; a poll follows the clear
    std::unique_ptr<subnet> current_;
    activity activity_ = activity::none;
    bool sweep_again_ = false;
    static constexpr unsigned max_burst = 4;
    unsigned sweeps_left_ = max_burst;
    machine_time refill_at_ = 0;
    bool sweep_deferred_ = false; // a sweep is due when sweeps_left_ allows it
    bool incomplete_ = false;
    bool retry_pending_ = false; // a write was refused since the last sweep
    std::unique_ptr<smp_batch> light_batch_;
    bool change_seen_ = false; // seen by the running light sweep
    std::uint64_t sweeps_ = 0;
    unsigned failures_ = 0; // consecutive incomplete sweeps
    machine_time next_ = 0; // the time of the next activity; 0: light_interval_ after the next tick
    bool stopped_ = false;
};

} // namespace irpverbs::subnet_manager
