// Writes the trees of multicast groups into the switches.
#pragma once

#include "configuration.hpp"
#include <model/multicast_groups.hpp>

#include <set>

namespace irpverbs::subnet_manager {

/// For tasks of the channel's queue.
class multicast_router {
public:
    multicast_router(smp_channel& smps, written_state& written) : smps_(smps), written_(written) {}

    /// Routes the groups whose MLIDs share a block with `mlid`, and calls `done()` when the
    /// switches have answered, or did not in time.
    void route(const subnet& net, const multicast_groups& groups, ib_lid_t mlid,
               std::function<void()> done);

    /// Routes all that were routed before.
    void route_all(const subnet& net, const multicast_groups& groups);

    /// Calls `visit(node, block, position, masks)` for what switches hold, up to the last block
    /// that was routed.
    template <class Visit>
    void for_each_table(const subnet& net, const Visit& visit) const {
        if (blocks_.empty()) return;
        for (node_index node = 0; node < net.nodes.nodes().size(); ++node) {
            if (!net.nodes.is_present_switch(node)) continue;
            for (unsigned block = 0; block <= *blocks_.rbegin(); ++block)
                for (unsigned position = 0; position < positions_of(net, node); ++position)
                    visit(node, block, position, masks_of(net, node, block, position));
        }
    }

private:
    struct writing {
        std::size_t missing = 1;
        std::function<void()> done;

        void answered() {
            if (--missing == 0 && done) done();
        }
    };
    using trees = std::map<ib_lid_t, multicast_tree>;

    /// How many masks a table has for each MLID.
    static unsigned positions_of(const subnet& net, node_index at);
    static written_state::block place_of(const subnet& net, node_index at, unsigned block,
                                         unsigned position);
    sm_multicast_forwarding_table_t masks_of(const subnet& net, node_index at, unsigned block,
                                             unsigned position) const;
    static trees trees_of(const subnet& net, const multicast_groups& groups, unsigned block);
    void write(const subnet& net, node_index at, const trees& wanted, unsigned block,
               const std::shared_ptr<writing>& all);
    void write_masks(const subnet& net, node_index at, const written_state::block& which,
                     const sm_multicast_forwarding_table_t& masks,
                     const std::shared_ptr<writing>& all);

    smp_channel& smps_;
    written_state& written_;
    std::set<unsigned> blocks_;
};

} // namespace irpverbs::subnet_manager
