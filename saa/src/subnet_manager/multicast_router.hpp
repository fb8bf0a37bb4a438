// Writes the trees of multicast groups into the switches.
#pragma once

#include "configuration.hpp"
#include "multicast_groups.hpp"

#include <set>

namespace irpverbs::saa {

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

private:
    struct writing {
        std::size_t missing = 1;
        std::function<void()> done;

        void answered() {
            if (--missing == 0 && done) done();
        }
    };
    using trees = std::map<ib_lid_t, multicast_tree>;

    static trees trees_of(const subnet& net, const multicast_groups& groups, unsigned block);
    void write(const subnet& net, node_index at, const trees& wanted, unsigned block,
               const std::shared_ptr<writing>& all);
    void write_masks(const subnet& net, node_index at, std::uint32_t modifier,
                     const sm_multicast_forwarding_table_t& masks,
                     const std::shared_ptr<writing>& all);

    smp_channel& smps_;
    written_state& written_;
    std::set<unsigned> blocks_;
};

} // namespace irpverbs::saa
