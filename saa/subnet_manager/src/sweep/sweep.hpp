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

    void run(std::function<void()> done);

    /// There may be more than was found, or less was done than was wanted.
    bool incomplete() const {
        return discovery_.incomplete() || configuration_.incomplete() || without_lid_ != 0;
    }
    /// It has left all as it was.
    bool yielded() const { return yielded_; }
    subnet take_result() { return std::move(result_); }

private:
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
};

} // namespace irpverbs::subnet_manager
