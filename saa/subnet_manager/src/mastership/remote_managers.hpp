// The other subnet managers of a subnet, from their SMInfo.
#pragma once

#include <model/subnet.hpp>
#include <smp_channel.hpp>

namespace irpverbs::subnet_manager {

struct remote_sm {
    directed_route route;
    sm_sminfo_t info{};
};

struct sm_discovery {
    std::vector<remote_sm> remote_managers;
    bool complete = true; // all ports with IsSM have responded
};

/// The higher priority ranks higher, then the lower GUID. Source: IBA 14.4.1.
bool outranks(const sm_sminfo_t& one, const sm_sminfo_t& other);

/// Sends SMInfo requests with `own` to each port with IsSM except the local one, and calls `done`
/// with the responses; at once when there is no such port. Runs in tasks of the channel's queue.
void query_remote_managers(smp_channel& smps, const subnet& of, const sm_sminfo_t& own,
                           std::function<void(const sm_discovery&)> done);

} // namespace irpverbs::subnet_manager
