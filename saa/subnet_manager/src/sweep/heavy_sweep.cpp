#include "heavy_sweep.hpp"

namespace irpverbs::subnet_manager {

heavy_sweep::heavy_sweep(smp_channel& smps, const sweep_plan& plan, const sweep_rules& rules,
                         const lid_table& before, programmed_state& programmed)
    : smps_(smps), rules_(rules), lmc_(plan.lmc), discovery_(smps, result_, rules.is_master()),
      configuration_(smps, result_, programmed) {
    result_.lids = before;
    result_.partitions = plan.partitions;
}

bool heavy_sweep::is_local_link_down() const {
    const port_ref own = result_.manager;
    return !own.valid() || (own.port != 0 && !is_linked(result_.nodes.at(own).info));
}

void heavy_sweep::run(bool may_wait, std::function<void()> done) {
    discovery_.run([this, may_wait, done = std::move(done)] {
        read_own_port([this, may_wait, done] {
            local_link_down_ = may_wait && is_local_link_down();
            if (local_link_down_) return done();
            query_remote_managers(smps_, result_, rules_.own(),
                                  [this, done](const sm_discovery& seen) {
                                      yielded_ = !rules_.evaluate(seen);
                                      if (yielded_) return done();
                                      discovery_.read_again([this, done] {
                                          compute();
                                          configure(done);
                                      });
                                  });
        });
    });
}

// The link may have failed after the discovery read the port; nodes behind it did not respond then.
void heavy_sweep::read_own_port(std::function<void()> done) {
    const port_ref own = result_.manager;
    if (!discovery_.incomplete() || !own.valid()) return done();
    smps_.send(get_smp({}, sm_port_info, own.port),
               [this, own, done = std::move(done)](const smp_response& response) {
                   const auto now = unpack<sm_portinfo_t>(response.data);
                   if (response.success() && now && !is_linked(*now))
                       result_.nodes.set_port(own, *now);
                   done();
               });
}

// Surveys the managers again, since one may have started during the configuration.
void heavy_sweep::configure(const std::function<void()>& done) {
    configuration_.run([this, done] {
        query_remote_managers(smps_, result_, rules_.own(), [this, done](const sm_discovery& seen) {
            rules_.evaluate(seen);
            done();
        });
    });
}

void heavy_sweep::compute() {
    if (result_.manager.valid())
        result_.settings.manager_guid = result_.nodes.at(result_.manager).guid;
    without_lid_ = result_.lids.assign(result_.nodes, lmc_);
    result_.tables.compute(result_.nodes, switch_graph(result_.nodes), result_.lids);
}

} // namespace irpverbs::subnet_manager
