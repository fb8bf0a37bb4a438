// Which of several subnet managers is the master: the states of this one, what moves it between
// them, and what it tells the others. Source: IBA 14.4.1.
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

/// For tasks of the channel's queue.
class mastership {
public:
    struct settings {
        std::uint8_t priority;
        std::uint64_t key;
        machine_time poll_interval;
        std::uint32_t poll_retries;
    };
    /// What the manager does.
    struct duties {
        std::function<void()> sweep;    // discovers; configures when `surveyed` allows it
        std::function<void()> look;     // surveys soon
        std::function<void()> distrust; // somebody else wrote: all is written anew
        std::function<void()> retire;   // is no master any more; then calls `retired`
    };

    mastership(smp_channel& smps, const settings& chosen, duties does)
        : smps_(smps), chosen_(chosen), does_(std::move(does)) {}

    /// Learns who this is, and discovers.
    void begin();
    void retired();
    /// Memory has run out in the middle of something: all that is known is given up, and this
    /// manager begins anew once it has retired.
    void forget();
    void tick(machine_time now);

    /// What others there are, as seen by a sweep or a look. False: this manager leaves the subnet
    /// to another, or has not seen enough.
    bool surveyed(const survey& seen);

    /// A request for SMInfo: the answer's contents and status, none when there is no answer yet.
    /// What a Set demands is done by `obey`, after the answer.
    std::optional<std::uint16_t> answer(const message_parts& asked, smp_data& contents) const;
    void obey(const message_parts& demand);

    bool is_master() const { return state_ == SM_STATE_MASTER; }
    std::uint8_t state() const { return state_; }
    /// On standby, and the master has answered.
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
    ib_guid_t guid_ = 0;    // of the manager's port; 0: not yet known
    survey seen_;           // last
    machine_time next_ = 0; // when something is due; 0: a while after the next tick
    bool restless_ = false; // is to try, or look, again soon

    unsigned repeats_ = 0; // while discovering: surveys that were incomplete

    rival master_; // on standby: who is polled
    bool polling_ = false;
    bool master_seen_ = false;
    unsigned misses_ = 0;

    std::optional<rival> heir_; // as master: who was offered the subnet
    bool offering_ = false;
    bool contested_ = false; // as master: there was another one
};

} // namespace irpverbs::subnet_manager
