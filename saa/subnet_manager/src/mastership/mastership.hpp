// Decides which of several subnet managers is the master: the states of this manager, their
// transitions, and its messages to the others. Source: IBA 14.4.1.
#pragma once

#include "rivals.hpp"
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
    struct duties {
        std::function<void()> sweep;    // discovers; configures if `surveyed` allows it
        std::function<void()> look;     // starts a survey soon
        std::function<void()> distrust; // another manager wrote: all state is programmed again
        std::function<void()> retire;   // the mastership has ended; calls `retired` afterwards
    };

    mastership(smp_channel& smps, const settings& chosen, duties does)
        : smps_(smps), chosen_(chosen), does_(std::move(does)) {}

    /// Reads the local port's GUID, and starts to discover.
    void begin();
    void retired();
    /// Restarts after a task failed for lack of memory: discards all state, and discovers again
    /// after the retirement.
    void forget();
    void tick(machine_time now);

    /// Evaluates the other managers that a sweep or a light sweep found. Returns false when this
    /// manager leaves the subnet to another, or the survey is incomplete.
    bool surveyed(const survey& seen);

    /// Returns the contents and the status of the response to a SMInfo request, or nothing while
    /// the local GUID is unknown. `obey` performs a Set's command after the response.
    std::optional<std::uint16_t> answer(const message_parts& asked, smp_data& contents) const;
    void obey(const message_parts& demand);

    bool is_master() const { return state_ == SM_STATE_MASTER; }
    std::uint8_t state() const { return state_; }
    /// Whether the manager is on standby, and the master has responded.
    bool has_master() const { return state_ == SM_STATE_STANDBY && master_seen_; }
    sm_sminfo_t info() const;
    const std::vector<rival>& rivals() const { return seen_.rivals; }

private:
    bool compete(const survey& seen);
    void defend(const survey& seen);
    bool trusts(const sm_sminfo_t& info) const { return info.SM_Key == chosen_.key; }
    bool is_legal(std::uint32_t control) const;
    std::optional<directed_route> way_to_sender(const message_parts& what) const;

    void discover();
    void stand_by(const rival& behind);
    void hand_over(const rival& heir);
    void take_over(const message_parts& from);
    void acknowledged(const sm_sminfo_t& by);
    void poll();
    void polled(const smp_answer& answer);
    void lose(std::uint8_t next_state);

    smp_channel& smps_;
    const settings chosen_;
    const duties does_;
    std::uint8_t state_ = SM_STATE_DISCOVERING;
    ib_guid_t guid_ = 0;    // of the manager's port; 0: unknown
    survey seen_;           // the last survey
    machine_time next_ = 0; // the time of the next action; 0: an interval after the next tick
    bool restless_ = false; // the next action is due soon

    unsigned repeats_ = 0; // while discovering: the number of incomplete surveys

    rival master_; // on standby: the polled manager
    bool polling_ = false;
    bool master_seen_ = false;
    unsigned misses_ = 0;

    std::optional<rival> heir_; // as master: the handover target
    bool offering_ = false;
    bool contested_ = false; // as master: another master was seen
};

} // namespace irpverbs::subnet_manager
