#include "multicast_router.hpp"

namespace irpverbs::subnet_manager {

namespace {

constexpr unsigned mlids_a_block = 32;
constexpr unsigned ports_a_mask = 16;

} // namespace

void multicast_router::route(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
                             std::function<void()> done) {
    const unsigned block = static_cast<unsigned>(mlid - first_mlid) / mlids_a_block;
    blocks_.insert(block);
    const trees wanted = trees_of(net, groups, block);
    const auto all = std::make_shared<writing>();
    all->done = std::move(done);
    for (node_index node = 0; node < net.nodes.nodes().size(); ++node)
        if (net.nodes.is_present_switch(node)) write(net, node, wanted, block, all);
    all->answered();
}

void multicast_router::route_all(const subnet& net, const multicast_groups& groups) {
    const std::set<unsigned> known = blocks_;
    for (const unsigned block : known)
        route(net, groups, static_cast<ib_lid_t>(first_mlid + block * mlids_a_block), {});
}

multicast_router::trees multicast_router::trees_of(const subnet& net,
                                                   const multicast_groups& groups, unsigned block) {
    std::map<ib_lid_t, std::vector<port_ref>> members;
    for (const sa_mcmember_record_t& member : groups.find({}, 0, true)) {
        const unsigned its_block = static_cast<unsigned>(member.MLID - first_mlid) / mlids_a_block;
        const port_ref port = net.port_of(member.PortGID.gid_guid);
        if (its_block == block && port.valid()) members[member.MLID].push_back(port);
    }
    const switch_graph graph(net.nodes);
    trees made;
    for (const auto& [mlid, ports] : members)
        made.emplace(mlid, make_multicast_tree(net.nodes, graph, ports, mlid));
    return made;
}

unsigned multicast_router::positions_of(const subnet& net, node_index at) {
    return static_cast<unsigned>((net.nodes[at].ports.size() + ports_a_mask - 1) / ports_a_mask);
}

written_state::block multicast_router::place_of(const subnet& net, node_index at, unsigned block,
                                                unsigned position) {
    return {net.nodes.at({at, 0}).guid, sm_multicast_table, position << 28 | block};
}

sm_multicast_forwarding_table_t multicast_router::masks_of(const subnet& net, node_index at,
                                                           unsigned block,
                                                           unsigned position) const {
    const smp_data data = written_.at(place_of(net, at, block, position));
    return *unpack<sm_multicast_forwarding_table_t>(data);
}

void multicast_router::write(const subnet& net, node_index at, const trees& wanted, unsigned block,
                             const std::shared_ptr<writing>& all) {
    for (unsigned position = 0; position < positions_of(net, at); ++position) {
        sm_multicast_forwarding_table_t masks{};
        for (const auto& [mlid, tree] : wanted)
            masks.PortMaskBlock[(mlid - first_mlid) % mlids_a_block] = tree.mask(at, position);
        write_masks(net, at, place_of(net, at, block, position), masks, all);
    }
}

// What nobody wrote is empty.
void multicast_router::write_masks(const subnet& net, node_index at,
                                   const written_state::block& which,
                                   const sm_multicast_forwarding_table_t& masks,
                                   const std::shared_ptr<writing>& all) {
    smp set = set_smp(net.way_to({at, 0}), std::get<1>(which), std::get<2>(which), masks);
    const smp_data data = set.data;
    if (written_.holds(which, data) || (!written_.knows(which) && data == smp_data{})) return;
    ++all->missing;
    smps_.ask(std::move(set), [this, which, data, all](const smp_answer& answer) {
        if (answer.success()) written_.note(which, data);
        all->answered();
    });
}

} // namespace irpverbs::subnet_manager
