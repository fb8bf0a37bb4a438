// The other subnet managers of a subnet, as they tell of themselves.
#pragma once

#include <model/subnet.hpp>
#include <smp_channel.hpp>

namespace irpverbs::subnet_manager {

struct rival {
    directed_route way;
    sm_sminfo_t info{};
};

struct survey {
    std::vector<rival> rivals;
    bool complete = true; // all that show themselves have answered
};

/// The higher priority, or the lower GUID. Source: IBA 14.4.1.
bool outranks(const sm_sminfo_t& one, const sm_sminfo_t& other);

/// Asks each port that has IsSM but the own one, telling it `own`, and calls `told`; at once when
/// there is none. For tasks of the channel's queue.
void ask_rivals(smp_channel& smps, const subnet& of, const sm_sminfo_t& own,
                std::function<void(const survey&)> told);

} // namespace irpverbs::subnet_manager
