// Discovers nodes, ports and links by directed routes from the subnet manager's port. Source: IBA
// 14.4.3.
#pragma once

#include <model/subnet.hpp>
#include <smp_batch.hpp>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue. Must live until its end.
class discovery {
public:
    /// Fills nodes, routes and manager of `into`. `clear_change_bits`: clears the change bits of
    /// switches, as only the master does.
    discovery(smp_channel& smps, subnet& into, bool clear_change_bits)
        : batch_(smps), into_(into), clear_change_bits_(clear_change_bits) {}

    /// Calls `done()` when all reachable nodes have responded or timed out.
    void run(std::function<void()> done);

    /// For a manager that has become the master since: clears the change bits that run() has left,
    /// reads those switches' ports again and follows their new links, then calls `done()`.
    void read_again(std::function<void()> done);

    /// Whether a node did not respond, so that there may be more than was found.
    bool incomplete() const { return incomplete_; }

private:
    void visit(const directed_route& route, port_ref from);
    void on_node_info(const directed_route& route, port_ref from, const sm_nodeinfo_t& info);
    void query_node(const directed_route& route, node_index node);
    void clear_change_bit(const directed_route& route, sm_switchinfo_t& info);
    void query_ports(const directed_route& route, node_index of_switch);
    void query_port(const directed_route& route, port_ref port);
    void on_port_info(const directed_route& route, port_ref port, const sm_portinfo_t& info);

    /// Sends a Get of an attribute; calls `handler(host)` with the response.
    template <class Host, class Handler>
    void get_attribute(const directed_route& route, sm_attribute attribute, std::uint32_t modifier,
                       Handler handler);

    smp_batch batch_;
    subnet& into_;
    bool clear_change_bits_;
    bool incomplete_ = false;
};

} // namespace irpverbs::subnet_manager
