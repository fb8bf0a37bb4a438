// A look at the ports of one switch that has told of a change: who hangs there no more is known
// long before a sweep could tell.
#pragma once

#include <model/subnet.hpp>
#include <smp_channel.hpp>

namespace irpverbs::subnet_manager {

/// What the ports of a switch tell, against what was known of them.
struct port_changes {
    std::vector<port_ref> cut; // ports of the switch whose links are down
    bool more = false;         // something else is new, or did not answer: a sweep is to find out
};

/// For tasks of the channel's queue; what it is given must live until it has told.
class glance {
public:
    glance(smp_channel& smps, subnet& of, node_index at) : smps_(smps), of_(of), at_(at) {}

    /// Reads the ports; the subnet's PortInfo follows, its links do not.
    void read(std::function<void(const port_changes&)> told);

    /// Clears the switch's change bit. What changes after that is noted again, so the ports are to
    /// be read once more.
    void clear(std::function<void(bool success)> told);

private:
    void tell();
    void came(port_ref port, const smp_answer& answer);
    void compare(port_ref port, const sm_portinfo_t& now);

    smp_channel& smps_;
    subnet& of_;
    const node_index at_;
    port_changes found_;
    std::size_t missing_ = 0;
    std::function<void(const port_changes&)> told_;
};

/// The end ports that can't be reached from the subnet manager's without these ports' links.
std::vector<port_ref> lost_without(const subnet& net, std::span<const port_ref> cut);

} // namespace irpverbs::subnet_manager
