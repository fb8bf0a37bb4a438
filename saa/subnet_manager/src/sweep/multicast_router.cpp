#include "multicast_router.hpp"

#include <dispatch/testing/probe.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr unsigned mlids_per_block = 32;
constexpr unsigned ports_per_mask = 16;
constexpr std::uint16_t max_mlids = 1024;

unsigned block_of(ib_lid_t mlid) {
    return static_cast<unsigned>(mlid - first_mlid) / mlids_per_block;
}

// A switch without a multicast table has no blocks.
unsigned blocks_of(const subnet& net, node_index at) {
    const std::uint16_t mlids = std::min(net.nodes[at].switch_info.MulticastFDBCap, max_mlids);
    return (mlids + mlids_per_block - 1u) / mlids_per_block;
}

template <class Visit>
void for_each_switch(const subnet& net, const Visit& visit) {
    for (node_index node = 0; node < net.nodes.nodes().size(); ++node)
        if (net.nodes.is_present_switch(node)) visit(node);
}

} // namespace

void multicast_router::waiter::end_one(bool acknowledged) {
    success = success && acknowledged;
    if (--missing == 0 && done) done(success);
}

void multicast_router::append(waiters& all, waiters& more) {
    all.insert(all.end(), more.begin(), more.end());
    more.clear();
}

void multicast_router::end(waiters ended, bool acknowledged) {
    for (const auto& each : ended)
        each->end_one(acknowledged);
}

std::uint16_t multicast_router::mlids_of(const subnet& net) {
    std::uint16_t all = max_mlids;
    for_each_switch(net, [&](node_index node) {
        const std::uint16_t its = net.nodes[node].switch_info.MulticastFDBCap;
        if (its != 0) all = std::min(all, its);
    });
    return all;
}

std::vector<port_ref> multicast_router::members_of(const subnet& net,
                                                   const multicast_groups::group& group) {
    std::vector<port_ref> ports;
    for (const multicast_groups::member& each : group.members)
        if (const port_ref port = net.port_of(each.port.gid_guid); port.valid())
            ports.push_back(port);
    return ports;
}

void multicast_router::add(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
                           port_ref member, routed_call done) {
    const auto known = trees_.find(mlid);
    const bool grows = known != trees_.end() && known->second.root != multicast_tree::no_root;
    if (!grows || !member.valid()) return rebuild(net, groups, mlid, std::move(done));
    for (const node_index at : known->second.add(net.nodes, *graph_, member))
        set_masks(net, at, mlid, known->second);
    wait(net, mlid, std::move(done));
}

// The root stays the same until the subnet changes.
void multicast_router::rebuild(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
                               routed_call done) {
    blocks_used_ = std::max(blocks_used_, block_of(mlid) + 1);
    const multicast_tree before = std::exchange(trees_[mlid], {});
    if (const auto* const group = groups.find_group(mlid)) {
        const std::vector<port_ref> members = members_of(net, *group);
        trees_[mlid] = before.root != multicast_tree::no_root
                           ? make_multicast_tree_at(net.nodes, *graph_, members, before.root)
                           : make_multicast_tree(net.nodes, *graph_, members, mlid);
    }
    const multicast_tree& now = trees_[mlid];
    const auto waits = std::make_shared<waiter>();
    waits->done = std::move(done);
    for (const multicast_tree* const tree : {&before, &now})
        for (const multicast_tree::branch& each : tree->branches) {
            set_masks(net, each.at, mlid, now);
            write(net, each.at, mlid, waits);
        }
    if (groups.find_group(mlid) == nullptr) trees_.erase(mlid);
    waits->end_one(true);
}

void multicast_router::wait(const subnet& net, ib_lid_t mlid, routed_call done) {
    const auto waits = std::make_shared<waiter>();
    waits->done = std::move(done);
    const auto known = trees_.find(mlid);
    if (known != trees_.end())
        for (const multicast_tree::branch& each : known->second.branches)
            write(net, each.at, mlid, waits);
    waits->end_one(true);
}

void multicast_router::route_all(const subnet& net, const multicast_groups& groups) {
    graph_.emplace(net.nodes);
    trees_.clear();
    make_blocks(net);
    groups.for_each([&](ib_lid_t mlid, const multicast_groups::group& group) {
        const multicast_tree& tree = trees_[mlid] =
            make_multicast_tree(net.nodes, *graph_, members_of(net, group), mlid);
        for (const multicast_tree::branch& each : tree.branches)
            set_masks(net, each.at, mlid, tree);
    });
    for (auto at = blocks_.begin(); at != blocks_.end();) {
        const auto next = std::next(at);
        if (at->second.exists)
            send(at->first, at->second);
        else
            drop(at);
        at = next;
    }
}

// Creates empty blocks for all present switches.
void multicast_router::make_blocks(const subnet& net) {
    for (auto& [which, block] : blocks_)
        block.exists = false;
    for_each_switch(net, [&](node_index node) {
        for (unsigned number = 0; number < blocks_of(net, node); ++number)
            for (unsigned position = 0; position < positions_of(net, node); ++position) {
                const block_name which = name_of(net, node, number, position);
                table_block& block = blocks_[which];
                block.route = net.route_to({node, 0});
                block.wanted = {};
                block.exists = true;
                block.in_doubt = block.in_flight && !programmed_.knows(which);
            }
    });
}

// A block with a Set in flight is erased after its response, so that at most one Set per block is
// in flight.
void multicast_router::drop(block_map::iterator at) {
    end(std::exchange(at->second.waiting, {}), false);
    if (!at->second.in_flight) blocks_.erase(at);
}

unsigned multicast_router::positions_of(const subnet& net, node_index at) {
    return static_cast<unsigned>((net.nodes[at].ports.size() + ports_per_mask - 1) /
                                 ports_per_mask);
}

multicast_router::block_name multicast_router::name_of(const subnet& net, node_index at,
                                                       unsigned block, unsigned position) {
    return {net.nodes.at({at, 0}).guid, sm_multicast_table, position << 28 | block};
}

sm_multicast_forwarding_table_t multicast_router::masks_of(const subnet& net, node_index at,
                                                           unsigned block,
                                                           unsigned position) const {
    const smp_data data = programmed_.at(name_of(net, at, block, position));
    return *unpack<sm_multicast_forwarding_table_t>(data);
}

void multicast_router::set_masks(const subnet& net, node_index at, ib_lid_t mlid,
                                 const multicast_tree& tree) {
    blocks_used_ = std::max(blocks_used_, block_of(mlid) + 1);
    for (unsigned position = 0; position < positions_of(net, at); ++position) {
        const auto found = blocks_.find(name_of(net, at, block_of(mlid), position));
        if (found == blocks_.end()) continue;
        found->second.wanted.PortMaskBlock[(mlid - first_mlid) % mlids_per_block] =
            tree.mask(at, position);
    }
}

void multicast_router::write(const subnet& net, node_index at, ib_lid_t mlid,
                             const std::shared_ptr<waiter>& waits) {
    for (unsigned position = 0; position < positions_of(net, at); ++position) {
        const auto found = blocks_.find(name_of(net, at, block_of(mlid), position));
        if (found == blocks_.end()) continue;
        ++waits->missing;
        found->second.waiting.push_back(waits);
        send(found->first, found->second);
    }
}

void multicast_router::send(const block_name& which, table_block& block) {
    if (block.in_flight) {
        IRPVERBS_PROBE("multicast.changed_in_flight");
        return;
    }
    smp set = set_smp(block.route, std::get<1>(which), std::get<2>(which), block.wanted);
    if (programmed_.holds(which, set.data)) return end(std::exchange(block.waiting, {}), true);
    block.sent = set.data;
    block.in_flight = true;
    block.of_sent = std::exchange(block.waiting, {});
    smps_.send(std::move(set),
               [this, which](const smp_response& response) { on_response(which, response); });
}

// Sends the contents that were requested during the flight. Does not repeat a refused Set at once.
void multicast_router::on_response(const block_name& which, const smp_response& response) {
    const auto at = blocks_.find(which);
    table_block& block = at->second;
    waiters waited = std::exchange(block.of_sent, {});
    block.in_flight = false;
    const bool doubted = std::exchange(block.in_doubt, false);
    const bool programmed = response.success() && block.exists;
    if (programmed && !doubted) programmed_.set(which, block.sent);
    if (programmed && doubted) append(block.waiting, waited);
    if (!block.exists)
        drop(at);
    else if (programmed || !block.waiting.empty())
        send(which, block);
    if (!programmed) failed_();
    end(std::move(waited), programmed);
}

} // namespace irpverbs::subnet_manager
