// The first configuration of a subnet: LIDs, and the routes to them.
#include "fabric.hpp"

#include "adapter.hpp"

#include <unordered_set>
#include <utility>

namespace irpverbs::hca_software {

namespace {

port* first_linked_host_port(std::deque<node>& nodes) {
    for (node& each : nodes)
        for (port& end : each.ports)
            if (each.type == IB_NODE_CA && end.linked()) return &end;
    return nullptr;
}

// Marks the ports that datagrams from a port reach: through switches, but not through other nodes.
void mark_reach(port& from) {
    std::deque<port*> ends;
    const auto reach = [&](port& end) {
        if (!std::exchange(end.in_subnet, true)) ends.push_back(&end);
    };
    for (reach(from); !ends.empty(); ends.pop_front()) {
        const port& end = *ends.front();
        if (end.linked()) reach(*end.peer);
        if (!end.owner->switches()) continue;
        for (port& other : end.owner->ports)
            reach(other);
    }
}

// Returns the ports that have LIDs: port 0 of a switch, each port of another node.
std::vector<port*> lid_holders(std::deque<node>& nodes) {
    std::vector<port*> holders;
    for (node& each : nodes)
        for (port& end : each.ports)
            if (end.in_subnet && (end.number == 0 || !each.switches())) holders.push_back(&end);
    return holders;
}

// Assigns the LIDs of the topology to ports of the subnet.
void assign_configured_lids(std::deque<node>& nodes, const topology& plan) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (port& end : nodes[i].ports) {
            if (!end.in_subnet) continue;
            end.lid = plan.nodes[i].ports[end.number].lid;
            end.lmc = plan.nodes[i].ports[end.number].lmc;
        }
}

// Keeps the LIDs of the topology, except duplicates. The other ports get the next free LIDs.
void assign_free_lids(const std::vector<port*>& holders) {
    std::unordered_set<ib_lid_t> taken;
    for (port* each : holders)
        if (each->lid != 0 && !taken.insert(each->lid).second) each->lid = 0;
    ib_lid_t next = 1;
    for (port* each : holders) {
        if (each->lid != 0) continue;
        while (taken.contains(next))
            ++next;
        if (next > IB_LID_UNICAST_LAST) return;
        each->lid = next++;
        each->lmc = 0;
    }
}

// Writes the shortest route to a LID into the table of every switch. `from`: the switch with the
// LID, or the switch next to the port with the LID.
void flood_routes(node& from, UCHAR port_there, ib_lid_t lid) {
    std::deque<node*> reached{&from};
    from.forwarding[lid] = port_there;
    while (!reached.empty()) {
        const node& here = *reached.front();
        reached.pop_front();
        for (const port& out : here.ports) {
            if (!out.linked() || out.peer->owner->type != IB_NODE_SWITCH) continue;
            node& there = *out.peer->owner;
            if (there.forwarding[lid] != node::no_port) continue;
            there.forwarding[lid] = out.peer->number;
            reached.push_back(&there);
        }
    }
}

void route(std::deque<node>& nodes, const std::vector<port*>& holders) {
    ib_lid_t top = 0;
    for (const port* each : holders)
        top = std::max(top, each->lid);
    for (node& each : nodes)
        if (each.switches() && each.ports[0].in_subnet) {
            each.forwarding.assign(top + 1u, node::no_port);
            each.routing.linear_top = top;
        }
    for (port* each : holders) {
        if (each->lid == 0) continue;
        if (each->owner->type == IB_NODE_SWITCH)
            flood_routes(*each->owner, 0, each->lid);
        else if (each->linked() && each->peer->owner->type == IB_NODE_SWITCH)
            flood_routes(*each->peer->owner, each->peer->number, each->lid);
    }
}

ib_lid_t first_host_lid(const std::vector<port*>& holders) {
    for (const port* each : holders)
        if (each->owner->type == IB_NODE_CA && each->lid != 0) return each->lid;
    return 0;
}

} // namespace

void fabric::bring_up(const topology& plan) {
    port* const manager = first_linked_host_port(nodes_);
    if (manager == nullptr) return;
    mark_reach(*manager);
    const std::vector<port*> holders = lid_holders(nodes_);
    assign_configured_lids(nodes_, plan);
    assign_free_lids(holders);
    route(nodes_, holders);
    const ib_lid_t sm_lid = first_host_lid(holders);
    for (node& each : nodes_)
        for (port& end : each.ports) {
            if (!end.in_subnet) continue;
            if (end.number == 0 || end.linked()) end.sm_lid = sm_lid;
            if (end.linked()) configure(end);
        }
}

} // namespace irpverbs::hca_software
