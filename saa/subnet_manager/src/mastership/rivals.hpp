// The other subnet managers of a subnet, from their SMInfo.
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
    bool complete = true; // all ports with IsSM have responded
};

/// The higher priority ranks higher, then the lower GUID. Source: IBA 14.4.1.
bool outranks(const sm_sminfo_t& one, const sm_sminfo_t& other);

/// Sends SMInfo requests with `own` to each port with IsSM except the local one, and calls `told`
/// with the responses; at once when there is no such port. Runs in tasks of the channel's queue.
void ask_rivals(smp_channel& smps, const subnet& of, const sm_sminfo_t& own,
                std::function<void(const survey&)> told);

} // namespace irpverbs::subnet_manager
