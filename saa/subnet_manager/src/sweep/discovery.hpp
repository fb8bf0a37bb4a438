// Discovers nodes, ports and links by directed routes from the subnet manager's port. Source: IBA
// 14.4.3.
#pragma once

#include <model/subnet.hpp>
#include <smp_batch.hpp>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue. Must live until its end.
class discovery {
public:
    /// Fills nodes, ways and manager of `into`. `clears`: clears the change bits of switches, as
    /// only the master does.
    discovery(smp_channel& smps, subnet& into, bool clears)
        : asked_(smps), into_(into), clears_(clears) {}

    /// Calls `done()` when all reachable nodes have responded or timed out.
    void run(std::function<void()> done);

    /// Whether a node did not respond, so that there may be more than was found.
    bool incomplete() const { return incomplete_; }

private:
    void visit(const directed_route& way, port_ref from);
    void arrive(const directed_route& way, port_ref from, const sm_nodeinfo_t& info);
    void ask_node(const directed_route& way, node_index node);
    void clear_change(const directed_route& way, const sm_switchinfo_t& info);
    void ask_port(const directed_route& way, port_ref port);
    void port_came(const directed_route& way, port_ref port, const sm_portinfo_t& info);

    /// Sends a Get of an attribute; calls `told(host)` with the response.
    template <class Host, class Told>
    void ask(const directed_route& way, sm_attribute attribute, std::uint32_t modifier, Told told);

    smp_batch asked_;
    subnet& into_;
    const bool clears_;
    bool incomplete_ = false;
};

} // namespace irpverbs::subnet_manager
