#include "sweep.hpp"

namespace irpverbs::saa {

sweep::sweep(smp_channel& smps, const sweep_plan& plan, const lid_table& before,
             written_state& written)
    : lmc_(plan.lmc), discovery_(smps, result_), configuration_(smps, result_, written) {
    result_.lids = before;
    result_.partitions = plan.partitions;
}

void sweep::run(std::function<void()> done) {
    discovery_.run([this, done = std::move(done)] {
        compute();
        configuration_.run(done);
    });
}

void sweep::compute() {
    if (result_.manager.valid())
        result_.settings.manager_guid = result_.nodes.at(result_.manager).guid;
    without_lid_ = result_.lids.assign(result_.nodes, lmc_);
    result_.tables.compute(result_.nodes, switch_graph(result_.nodes), result_.lids);
}

} // namespace irpverbs::saa
