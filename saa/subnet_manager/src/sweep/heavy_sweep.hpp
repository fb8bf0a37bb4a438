// A heavy sweep: discovers, computes, configures.
#pragma once

#include "configuration.hpp"
#include "discovery.hpp"
#include <mastership/remote_managers.hpp>

namespace irpverbs::subnet_manager {

struct sweep_plan {
    std::uint8_t lmc = 0;
    partition_table partitions;
};

/// The interface of heavy and light sweeps to the mastership.
struct sweep_rules {
    std::function<bool()> is_master;
    std::function<sm_sminfo_t()> own;
    std::function<bool(const sm_discovery&)> evaluate; // returns true if the sweep may configure
};

/// Runs in tasks of the channel's queue. Must live until its end.
class heavy_sweep {
public:
    /// `before`: the LIDs that ports keep.
    heavy_sweep(smp_channel& smps, const sweep_plan& plan, const sweep_rules& rules,
                const lid_table& before, programmed_state& programmed);

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
    bool local_link_down() const { return local_link_down_; }
    subnet take_result() { return std::move(result_); }

private:
    void read_own_port(std::function<void()> done);
    bool is_local_link_down() const;
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
    bool local_link_down_ = false;
};

} // namespace irpverbs::subnet_manager
