// Decides which of several subnet managers is the master: the states of this manager, their
// transitions, and its messages to the others. Source: IBA 14.4.1.
#pragma once

#include "remote_managers.hpp"
#include <message_port.hpp>

#include <basics.hpp>

#include <optional>

namespace irpverbs::subnet_manager {

/// Attribute modifiers of Set(SMInfo). Source: IBA 14.2.5.13.
enum sm_control : std::uint32_t {
    sm_handover = 1,
    sm_acknowledge = 2,
    sm_disable = 3,
    sm_standby = 4,
    sm_discover = 5,
};

/// Runs in tasks of the channel's queue.
class mastership {
public:
    struct settings {
        std::uint8_t priority;
        std::uint64_t key;
        machine_time poll_interval;
        std::uint32_t poll_retries;
    };
    /// The functions of the manager.
    struct callbacks {
        std::function<void()> sweep;       // discovers; configures if `evaluate` allows it
        std::function<void()> light_sweep; // starts an SM discovery soon
        /// Another manager has written tables: all state is programmed again.
        std::function<void()> invalidate_programmed_state;
        /// The mastership has ended. The manager calls `stepped_down` afterwards.
        std::function<void()> step_down;
    };

    mastership(smp_channel& smps, const settings& its_settings, callbacks its_callbacks)
        : smps_(smps), settings_(its_settings), callbacks_(std::move(its_callbacks)) {}

    /// Reads the local port's GUID, and starts to discover.
    void begin();
    void stepped_down();
    /// Restarts after a task failed for lack of memory: discards all state, and discovers again
    /// after it has stepped down.
    void reset();
    void tick(machine_time now);

    /// Evaluates the other managers that a sweep or a light sweep found. Returns false when this
    /// manager leaves the subnet to another, or the SM discovery is incomplete.
    bool evaluate(const sm_discovery& seen);

    /// Returns the contents and the status of the response to a SMInfo request, or nothing while
    /// the local GUID is unknown. `execute` performs a Set's command after the response.
    std::optional<std::uint16_t> respond(const message_parts& request, smp_data& contents) const;
    void execute(const message_parts& request);

    bool is_master() const { return state_ == SM_STATE_MASTER; }
    std::uint8_t state() const { return state_; }
    /// Whether the manager is on standby, and the master has responded.
    bool has_master() const { return state_ == SM_STATE_STANDBY && master_seen_; }
    sm_sminfo_t info() const;
    const std::vector<remote_sm>& remote_managers() const {
        return last_discovery_.remote_managers;
    }

private:
    bool compete(const sm_discovery& seen);
    void defend(const sm_discovery& seen);
    bool trusts(const sm_sminfo_t& info) const { return info.SM_Key == settings_.key; }
    bool is_legal(std::uint32_t control) const;
    std::optional<directed_route> route_to_sender(const message_parts& what) const;

    void discover();
    void stand_by(const remote_sm& behind);
    void hand_over(const remote_sm& target);
    void handover_accepted(ib_guid_t by);
    void take_over(const message_parts& from);
    void acknowledged(const sm_sminfo_t& by);
    void poll();
    void polled(const smp_response& response);
    void lose(std::uint8_t next_state);

    smp_channel& smps_;
    const settings settings_;
    const callbacks callbacks_;
    std::uint8_t state_ = SM_STATE_DISCOVERING;
    ib_guid_t guid_ = 0;          // of the manager's port; 0: unknown
    sm_discovery last_discovery_; // the last SM discovery
    machine_time next_action_ =
        0; // the time of the next action; 0: an interval after the next tick
    bool recheck_pending_ = false; // the next action is due soon

    unsigned incomplete_discoveries_ = 0; // while discovering: the number of incomplete discoveries

    remote_sm master_; // on standby: the polled manager
    bool polling_ = false;
    bool master_seen_ = false;
    unsigned misses_ = 0;

    std::optional<remote_sm> handover_target_; // as master: the handover target
    bool handover_pending_ = false;
    unsigned accepted_handovers_ = 0; // by that target
    bool contested_ = false;          // as master: another master was seen
};

} // namespace irpverbs::subnet_manager
