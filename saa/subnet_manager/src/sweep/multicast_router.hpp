// Writes the trees of multicast groups into the switches. For each block of a switch's table it
// knows what is wanted, what is in flight (one Set at a time), and what the switch has
// acknowledged.
#pragma once

#include "configuration.hpp"
#include <model/multicast_groups.hpp>

#include <optional>

namespace irpverbs::subnet_manager {

/// For tasks of the channel's queue.
class multicast_router {
public:
    /// `failed()` is called when a switch has not taken a block: it is sent again by the next
    /// route_all.
    multicast_router(smp_channel& smps, written_state& written, std::function<void()> failed)
        : smps_(smps), written_(written), failed_(std::move(failed)) {}

    using routed_call = std::function<void(bool success)>;

    /// The group has one more member. Calls `done` when all switches of its tree have acknowledged
    /// what was wanted of them at the call, or one has not.
    void add(const subnet& net, const multicast_groups& groups, ib_lid_t mlid, port_ref member,
             routed_call done);

    /// The group has lost a member, or is no more. `done` as above.
    void rebuild(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
                 routed_call done);

    /// The group is as it was; `done` as above.
    void wait(const subnet& net, ib_lid_t mlid, routed_call done);

    /// The subnet is another: routes all groups anew. A block whose contents are not known, since
    /// another manager or nobody has written it, is written whole.
    void route_all(const subnet& net, const multicast_groups& groups);

    /// The multicast LIDs that the tables of all switches hold.
    static std::uint16_t mlids_of(const subnet& net);

    /// Calls `visit(node, block, position, masks)` for what switches hold, up to the last block
    /// that a group was in.
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

    /// A block of one switch. What it has acknowledged stands in the written_state.
    struct table_block {
        directed_route way;
        sm_multicast_forwarding_table_t wanted{};
        waiters waiting; // for what is wanted
        bool exists = false;
        bool in_flight = false;
        bool in_doubt = false; // the switch may have begun anew since the Set was sent
        smp_data sent{};
        waiters of_sent;
    };
    using block_name = written_state::block;
    using block_map = std::map<block_name, table_block>;

    /// How many masks a table has for each MLID.
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
    void answered(const block_name& which, const smp_answer& answer);
    void drop(block_map::iterator at);
    static void move_to(waiters& all, waiters& more);
    static void end(waiters ended, bool acknowledged);

    smp_channel& smps_;
    written_state& written_;
    const std::function<void()> failed_;
    std::optional<switch_graph> graph_;
    std::map<ib_lid_t, multicast_tree> trees_;
    block_map blocks_;
    unsigned blocks_used_ = 0;
};

} // namespace irpverbs::subnet_manager
