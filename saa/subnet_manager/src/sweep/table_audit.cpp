#include "table_audit.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::size_t most_a_sweep = 128; // blocks of a kind

bool is_route(const programmed_state::block& which) {
    return std::get<1>(which) == sm_linear_table;
}
bool is_other(const programmed_state::block& which) { return !is_route(which); }

} // namespace

// A wrong route cuts off a port, so these are read more often.
void table_audit::read_next(smp_batch& batch, const subnet& net,
                            const std::function<void()>& differs) {
    read(routes_, is_route, 6, batch, net, differs);
    read(others_, is_other, 60, batch, net, differs);
}

// A round takes that number of light sweeps, or more where that would exceed `most_a_sweep`.
template <class Wanted>
void table_audit::read(programmed_state::block& next, const Wanted& wanted,
                       std::size_t sweeps_per_round, smp_batch& batch, const subnet& net,
                       const std::function<void()>& differs) {
    const std::size_t all = programmed_.count(wanted);
    const std::size_t share = (all + sweeps_per_round - 1) / sweeps_per_round;
    next = programmed_.visit_from(
        next, std::min(share, most_a_sweep), wanted,
        [&](const programmed_state::block& which, const smp_data& expected) {
            const auto& [whose, attribute, modifier] = which;
            const port_ref at = net.port_of(whose);
            if (!at.valid()) return;
            batch.send(get_smp(net.route_to(at), attribute, modifier),
                       [this, which, expected, differs](const smp_response& response) {
                           compare(which, expected, response, differs);
                       });
        });
}

// A block that was programmed again since the request is not compared.
void table_audit::compare(const programmed_state::block& which, const smp_data& expected,
                          const smp_response& response, const std::function<void()>& differs) {
    if (!response.success() || response.data == expected || !programmed_.holds(which, expected))
        return;
    programmed_.invalidate(which);
    differs();
}

} // namespace irpverbs::subnet_manager
