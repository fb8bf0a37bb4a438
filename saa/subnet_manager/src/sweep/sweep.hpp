// A heavy sweep: discovers, computes, configures.
#pragma once

#include "configuration.hpp"
#include "discovery.hpp"
#include <mastership/rivals.hpp>

namespace irpverbs::subnet_manager {

struct sweep_plan {
    std::uint8_t lmc = 0;
    partition_table partitions;
};

/// The interface of heavy and light sweeps to the mastership.
struct sweep_rules {
    std::function<bool()> is_master;
    std::function<sm_sminfo_t()> own;
    std::function<bool(const survey&)> surveyed; // returns true if the sweep may configure
};

/// Runs in tasks of the channel's queue. Must live until its end.
class sweep {
public:
    /// `before`: the LIDs that ports keep.
    sweep(smp_channel& smps, const sweep_plan& plan, const sweep_rules& rules,
          const lid_table& before, written_state& written);

    /// `may_wait`: an earlier subnet exists, which stays valid while the local link is down.
    void run(bool may_wait, std::function<void()> done);

    /// Whether nodes may be undiscovered, or a part of the configuration has failed.
    bool incomplete() const {
        return discovery_.incomplete() || configuration_.incomplete() || without_lid_ != 0;
    }
    /// Whether the sweep changed nothing since another manager is the master.
    bool yielded() const { return yielded_; }
    /// Whether the sweep changed nothing since the local link is down, which says nothing about the
    /// other ports.
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
