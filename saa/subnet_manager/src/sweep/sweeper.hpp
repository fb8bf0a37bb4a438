// The schedule of sweeps, and the result of the last one.
#pragma once

#include "glance.hpp"
#include "sweep.hpp"
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
    struct news {
        /// Called after each sweep; `before` is null at the first one.
        std::function<void(const subnet* before)> swept;
        /// Called before unreachable end ports are removed from the subnet.
        std::function<void(std::span<const port_ref> lost)> going;
        std::function<void()> gone; // called after their removal
    };

    sweeper(smp_channel& smps, sweep_plan plan, sweep_rules rules, machine_time light_interval,
            news told_of)
        : smps_(smps), plan_(std::move(plan)), rules_(std::move(rules)),
          light_interval_(light_interval), told_of_(std::move(told_of)) {}

    /// Begins a heavy sweep; a running sweep is followed by another.
    void sweep_now();

    /// Begins a sweep for causes that other nodes control: a few at once, then one per second.
    void sweep_damped();

    /// Handles a link state trap of the switch with that LID. Polls its ports, unless another
    /// activity runs, and removes unreachable ones from the subnet at once. A sweep follows when
    /// there are other changes.
    void told_by(ib_lid_t lid);

    /// Begins a light sweep of the switches and the other managers, unless an activity runs.
    void look_now();

    /// Invalidates the programmed state after another manager's writes, and begins a sweep.
    void distrust();

    /// Schedules a sweep after a refused table, as after an incomplete sweep.
    void repeat();

    /// Begins the activity that is due: a sweep after an incomplete one, or a light sweep, which
    /// polls the switches for changes.
    void tick(machine_time now);

    /// Begins no further activity; a running one ends with its SMPs.
    void stop() { stopped_ = true; }

    /// Returns the current subnet; null before the end of the first sweep.
    const subnet* current() const { return current_.get(); }
    written_state& written() { return written_; }
    bool incomplete() const { return incomplete_; }
    std::uint64_t sweeps() const { return sweeps_; }

private:
    enum class activity { none, glancing, sweeping, looking };

    void begin();
    void sweep_done();
    void glance_at_next();
    void begin_glance(node_index at);
    void confirm_next();
    bool take_out(const port_changes& found);
    void glance_done(bool sweeps);
    void look();
    void look_at_switches();
    void look_at_master();
    void look_done();
    void wait_for_port();
    void refill(machine_time now);

    smp_channel& smps_;
    const sweep_plan plan_;
    const sweep_rules rules_;
    const machine_time light_interval_;
    const news told_of_;
    written_state written_;
    table_audit audit_{written_};
    std::unique_ptr<sweep> running_;
    std::unique_ptr<glance> glance_;
    // Switches of current_:
    std::set<node_index> told_;        // to be polled
    std::set<node_index> unconfirmed_; // change bit not cleared yet; a poll follows the clear
    std::unique_ptr<subnet> current_;
    activity now_ = activity::none;
    bool again_ = false;
    static constexpr unsigned most_at_once = 4;
    unsigned sweeps_left_ = most_at_once;
    machine_time refill_at_ = 0;
    bool damped_ = false; // a sweep is due when sweeps_left_ allows it
    bool incomplete_ = false;
    bool repeats_ = false; // a write was refused since the last sweep
    std::unique_ptr<smp_batch> looking_;
    bool changed_ = false; // seen by the running light sweep
    std::uint64_t sweeps_ = 0;
    unsigned failures_ = 0; // consecutive incomplete sweeps
    machine_time next_ = 0; // the time of the next activity; 0: light_interval_ after the next tick
    bool stopped_ = false;
};

} // namespace irpverbs::subnet_manager
