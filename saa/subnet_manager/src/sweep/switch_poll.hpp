// Reads the ports of one switch that reported a link state change. Lost ports are found long before
// a sweep would find them.
#pragma once

#include <model/subnet.hpp>
#include <smp_channel.hpp>

namespace irpverbs::subnet_manager {

/// The changes of a switch's ports since the last sweep or poll.
struct port_changes {
    std::vector<port_ref> cut; // ports of the switch that have lost their links
    bool more = false;         // another change, or a port without a response: a sweep is needed
};

/// Runs in tasks of the channel's queue; its arguments must live until the callback.
class switch_poll {
public:
    switch_poll(smp_channel& smps, subnet& of, node_index at) : smps_(smps), of_(of), at_(at) {}

    /// Reads the ports, and updates the subnet's PortInfo but not its links.
    void read(std::function<void(const port_changes&)> done);

    /// Clears the switch's change bit. A later change sets it again, so the ports must be read once
    /// more.
    void clear(std::function<void(bool success)> done);

private:
    void finish();
    void on_port_info(port_ref port, const smp_response& response);
    void compare(port_ref port, const sm_portinfo_t& now);

    smp_channel& smps_;
    subnet& of_;
    const node_index at_;
    port_changes found_;
    std::size_t outstanding_ = 0;
    std::function<void(const port_changes&)> done_;
};

/// Returns the end ports that the subnet manager's port cannot reach without these ports' links.
std::vector<port_ref> unreachable_without(const subnet& net, std::span<const port_ref> cut);

} // namespace irpverbs::subnet_manager
