#include "multicast_groups.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>

namespace irpverbs::hca_software::roce {

using dispatch::detail::spin_guard;

// Two first members may both open the socket: the list has one of them.
NTSTATUS multicast_groups::join(const ib_gid_t& to, unsigned index) {
    if (add_member(to)) return STATUS_SUCCESS;
    groups made;
    endpoint& receiver = made.emplace_back(owner_, how_).receiver;
    if (receiver.socket.open_group(to, index) != 0 || !receiver.start())
        return STATUS_INSUFFICIENT_RESOURCES;
    const spin_guard guard(lock_);
    if (const auto found = find(to); found != groups_.end())
        ++found->members;
    else
        groups_.splice(groups_.end(), made);
    return STATUS_SUCCESS;
}

void multicast_groups::leave(const ib_gid_t& which) {
    groups ended; // destroyed without the lock: the watch may have to be waited for
    const spin_guard guard(lock_);
    const auto found = find(which);
    if (--found->members == 0) ended.splice(ended.end(), groups_, found);
}

bool multicast_groups::add_member(const ib_gid_t& to) {
    const spin_guard guard(lock_);
    const auto found = find(to);
    if (found == groups_.end()) return false;
    ++found->members;
    return true;
}

multicast_groups::groups::iterator multicast_groups::find(const ib_gid_t& which) {
    return std::ranges::find_if(
        groups_, [&](const group& each) { return each.receiver.socket.local() == which; });
}

} // namespace irpverbs::hca_software::roce
