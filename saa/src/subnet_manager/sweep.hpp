// One sweep: discovers, computes, configures.
#pragma once

#include "configuration.hpp"
#include "discovery.hpp"

namespace irpverbs::saa {

struct sweep_plan {
    std::uint8_t lmc = 0;
    partition_table partitions;
};

/// For tasks of the channel's queue. Must live until it is done.
class sweep {
public:
    /// `before`: the LIDs that ports are to keep.
    sweep(smp_channel& smps, const sweep_plan& plan, const lid_table& before,
          written_state& written);

    void run(std::function<void()> done);

    /// There may be more than was found, or less was done than was wanted.
    bool incomplete() const {
        return discovery_.incomplete() || configuration_.incomplete() || without_lid_ != 0;
    }
    subnet take_result() { return std::move(result_); }

private:
    void compute();

    const std::uint8_t lmc_;
    subnet result_;
    discovery discovery_;
    configuration configuration_;
    std::size_t without_lid_ = 0;
};

} // namespace irpverbs::saa
