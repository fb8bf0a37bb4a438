// When it is swept, and what came of it last.
#pragma once

#include "glance.hpp"
#include "sweep.hpp"
#include "table_audit.hpp"

#include <basics.hpp>

#include <memory>
#include <optional>
#include <set>

namespace irpverbs::subnet_manager {

/// For tasks of the channel's queue.
class sweeper {
public:
    /// What is told of the subnet.
    struct news {
        /// After each sweep; `before` is null at the first one.
        std::function<void(const subnet* before)> swept;
        /// End ports that can't be reached any more are about to be taken out of it.
        std::function<void(std::span<const port_ref> lost)> going;
        std::function<void()> gone; // they have been
    };

    sweeper(smp_channel& smps, sweep_plan plan, sweep_rules rules, machine_time light_interval,
            news told_of)
        : smps_(smps), plan_(std::move(plan)), rules_(std::move(rules)),
          light_interval_(light_interval), told_of_(std::move(told_of)) {}

    /// Begins a sweep; one that runs is followed by another.
    void sweep_now();

    /// The same for what others can bring about as often as they like: a few at once, then one a
    /// second.
    void sweep_damped();

    /// The switch with that LID has told of a change. Unless something else runs, its ports are
    /// looked at: who hung there and is gone is taken out of the subnet at once. A sweep follows
    /// when there is more to it.
    void told_by(ib_lid_t lid);

    /// Begins a look at the switches and the other managers, unless something runs.
    void look_now();

    /// Somebody else wrote: forgets what was written, and sweeps.
    void distrust();

    /// A table was not taken: another sweep follows, as after one that was incomplete.
    void repeat();

    /// Begins what is due: a sweep after one that was incomplete, or a look at the switches whether
    /// something has changed.
    void tick(machine_time now);

    /// No sweep and no look is begun any more; one that runs comes to its end with its SMPs.
    void stop() { stopped_ = true; }

    /// The subnet as it is now; null before the first sweep is done.
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
    std::set<node_index> told_;        // that are to be glanced at
    std::set<node_index> unconfirmed_; // whose change bits are to be cleared, and that once more
    std::unique_ptr<subnet> current_;
    activity now_ = activity::none;
    bool again_ = false;
    static constexpr unsigned most_at_once = 4;
    unsigned sweeps_left_ = most_at_once;
    machine_time refill_at_ = 0;
    bool damped_ = false; // one is due when there is one left
    bool incomplete_ = false;
    bool repeats_ = false; // something was not taken since the last sweep
    std::unique_ptr<smp_batch> looking_;
    bool changed_ = false; // seen by the look that runs
    std::uint64_t sweeps_ = 0;
    unsigned failures_ = 0; // sweeps that were incomplete, one after the other
    machine_time next_ = 0; // when something is due; 0: light_interval_ after the next tick
    bool stopped_ = false;
};

} // namespace irpverbs::subnet_manager
