#include "multicast_router.hpp"

namespace irpverbs::saa {

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
        if (net.nodes[node].is_switch()) write(net, node, wanted, block, all);
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

void multicast_router::write(const subnet& net, node_index at, const trees& wanted, unsigned block,
                             const std::shared_ptr<writing>& all) {
    const std::size_t positions = (net.nodes[at].ports.size() + ports_a_mask - 1) / ports_a_mask;
    for (unsigned position = 0; position < positions; ++position) {
        sm_multicast_forwarding_table_t masks{};
        for (const auto& [mlid, tree] : wanted)
            masks.PortMaskBlock[(mlid - first_mlid) % mlids_a_block] = tree.mask(at, position);
        write_masks(net, at, position << 28 | block, masks, all);
    }
}

// What nobody wrote is empty.
void multicast_router::write_masks(const subnet& net, node_index at, std::uint32_t modifier,
                                   const sm_multicast_forwarding_table_t& masks,
                                   const std::shared_ptr<writing>& all) {
    const written_state::block which{net.nodes.at({at, 0}).guid, sm_multicast_table, modifier};
    smp set = set_smp(net.way_to({at, 0}), sm_multicast_table, modifier, masks);
    const smp_data data = set.data;
    if (written_.holds(which, data) || (!written_.knows(which) && data == smp_data{})) return;
    ++all->missing;
    smps_.ask(std::move(set), [this, which, data, all](const smp_answer& answer) {
        if (answer.success()) written_.note(which, data);
        all->answered();
    });
}

} // namespace irpverbs::saa
