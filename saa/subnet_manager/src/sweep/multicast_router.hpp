// Writes the trees of multicast groups into the switches. For each block of a switch's table it
// knows the wanted contents, the Set in flight (one at a time), and the contents that the switch
// has acknowledged.
#pragma once

#include "configuration.hpp"
#include <model/multicast_groups.hpp>

#include <optional>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue.
class multicast_router {
public:
    /// `failed()` is called when a switch has refused a block; the next route_all sends it again.
    multicast_router(smp_channel& smps, programmed_state& programmed, std::function<void()> failed)
        : smps_(smps), programmed_(programmed), failed_(std::move(failed)) {}

    using routed_call = std::function<void(bool success)>;

    /// Adds a member to the group's tree. Calls `done` when all switches of the tree have
    /// acknowledged the contents at the time of the call, or one has refused them.
    void add(const subnet& net, const multicast_groups& groups, ib_lid_t mlid, port_ref member,
             routed_call done);

    /// Rebuilds the tree after the group has lost a member or was deleted. `done` as for add().
    void rebuild(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
                 routed_call done);

    /// Waits for an unchanged group; `done` as for add().
    void wait(const subnet& net, ib_lid_t mlid, routed_call done);

    /// Routes all groups again after a change of the subnet. Writes a block with unknown contents
    /// completely: another manager may have written it, or none.
    void route_all(const subnet& net, const multicast_groups& groups);

    /// Returns the number of multicast LIDs that the tables of all switches hold.
    static std::uint16_t mlids_of(const subnet& net);

    /// Calls `visit(node, block, position, masks)` for the contents of the switches, up to the last
    /// block that has held a group.
    template <class Visit>
    void for_each_table(const subnet& net, const Visit& visit) const {
        for (node_index node = 0; node < net.nodes.nodes().size(); ++node) {
            if (!net.nodes.is_present_switch(node)) continue;
            for (unsigned block = 0; block < blocks_used_; ++block)
                for (unsigned position = 0; position < positions_of(net, node); ++position)
                    visit(node, block, position, masks_of(net, node, block, position));
        }
    }

private:
    /// A request that waits for several blocks.
    struct waiter {
        std::size_t missing = 1;
        bool success = true;
        routed_call done;

        void end_one(bool acknowledged);
    };
    using waiters = std::vector<std::shared_ptr<waiter>>;

    /// A block of one switch. The programmed_state has its acknowledged contents.
    struct table_block {
        directed_route route;
        sm_multicast_forwarding_table_t wanted{};
        waiters waiting; // for the wanted contents
        bool exists = false;
        bool in_flight = false;
        bool in_doubt = false; // the switch may have restarted since the Set was sent
        smp_data sent{};
        waiters of_sent;
    };
    using block_name = programmed_state::block;
    using block_map = std::map<block_name, table_block>;

    /// Returns the number of masks per MLID in a table.
    static unsigned positions_of(const subnet& net, node_index at);
    static block_name name_of(const subnet& net, node_index at, unsigned block, unsigned position);
    sm_multicast_forwarding_table_t masks_of(const subnet& net, node_index at, unsigned block,
                                             unsigned position) const;
    static std::vector<port_ref> members_of(const subnet& net,
                                            const multicast_groups::group& group);

    void make_blocks(const subnet& net);
    void set_masks(const subnet& net, node_index at, ib_lid_t mlid, const multicast_tree& tree);
    void write(const subnet& net, node_index at, ib_lid_t mlid,
               const std::shared_ptr<waiter>& waits);
    void send(const block_name& which, table_block& block);
    void on_response(const block_name& which, const smp_response& response);
    void drop(block_map::iterator at);
    static void append(waiters& all, waiters& more);
    static void end(waiters ended, bool acknowledged);

    smp_channel& smps_;
    programmed_state& programmed_;
    const std::function<void()> failed_;
    std::optional<switch_graph> graph_;
    std::map<ib_lid_t, multicast_tree> trees_;
    block_map blocks_;
    unsigned blocks_used_ = 0;
};

} // namespace irpverbs::subnet_manager
