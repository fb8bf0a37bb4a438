#include "sweep.hpp"

namespace irpverbs::subnet_manager {

sweep::sweep(smp_channel& smps, const sweep_plan& plan, const sweep_rules& rules,
             const lid_table& before, written_state& written)
    : smps_(smps), rules_(rules), lmc_(plan.lmc), discovery_(smps, result_, rules.is_master()),
      configuration_(smps, result_, written) {
    result_.lids = before;
    result_.partitions = plan.partitions;
}

bool sweep::is_cut_off() const {
    const port_ref own = result_.manager;
    return own.valid() && own.port != 0 && !is_linked(result_.nodes.at(own).info);
}

void sweep::run(bool may_wait, std::function<void()> done) {
    discovery_.run([this, may_wait, done = std::move(done)] {
        cut_off_ = may_wait && is_cut_off();
        if (cut_off_) return done();
        ask_rivals(smps_, result_, rules_.own(), [this, done](const survey& seen) {
            yielded_ = !rules_.surveyed(seen);
            if (yielded_) return done();
            compute();
            configure(done);
        });
    });
}

// Surveys the managers again, since one may have started during the configuration.
void sweep::configure(const std::function<void()>& done) {
    configuration_.run([this, done] {
        ask_rivals(smps_, result_, rules_.own(), [this, done](const survey& seen) {
            rules_.surveyed(seen);
            done();
        });
    });
}

void sweep::compute() {
    if (result_.manager.valid())
        result_.settings.manager_guid = result_.nodes.at(result_.manager).guid;
    without_lid_ = result_.lids.assign(result_.nodes, lmc_);
    result_.tables.compute(result_.nodes, switch_graph(result_.nodes), result_.lids);
}

} // namespace irpverbs::subnet_manager
