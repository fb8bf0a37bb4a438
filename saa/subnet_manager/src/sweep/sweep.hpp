// One sweep: discovers, computes, configures.
#pragma once

#include "configuration.hpp"
#include "discovery.hpp"
#include <mastership/rivals.hpp>

namespace irpverbs::subnet_manager {

struct sweep_plan {
    std::uint8_t lmc = 0;
    partition_table partitions;
};

/// What a sweep and a look ask of who knows whether this manager is the master.
struct sweep_rules {
    std::function<bool()> is_master;
    std::function<sm_sminfo_t()> own;
    std::function<bool(const survey&)> surveyed; // true: it may configure
};

/// For tasks of the channel's queue. Must live until it is done.
class sweep {
public:
    /// `before`: the LIDs that ports are to keep.
    sweep(smp_channel& smps, const sweep_plan& plan, const sweep_rules& rules,
          const lid_table& before, written_state& written);

    /// `may_wait`: there is a subnet from before, which stays while the own link is down.
    void run(bool may_wait, std::function<void()> done);

    /// There may be more than was found, or less was done than was wanted.
    bool incomplete() const {
        return discovery_.incomplete() || configuration_.incomplete() || without_lid_ != 0;
    }
    /// It has left all as it was: another manager is the master.
    bool yielded() const { return yielded_; }
    /// It has left all as it was: the manager's own link is down, which is no news of the others.
    bool cut_off() const { return cut_off_; }
    subnet take_result() { return std::move(result_); }

private:
    bool is_cut_off() const;
    void compute();
    void configure(const std::function<void()>& done);

    smp_channel& smps_;
    const sweep_rules& rules_;
    const std::uint8_t lmc_;
    subnet result_;
    discovery discovery_;
    configuration configuration_;
    std::size_t without_lid_ = 0;
    bool yielded_ = false;
    bool cut_off_ = false;
};

} // namespace irpverbs::subnet_manager
