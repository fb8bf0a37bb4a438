#include "table_audit.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

// A round through all tables takes this many light sweeps, or more where that is less than `least`
// blocks a sweep.
constexpr std::size_t sweeps_per_round = 60;
constexpr std::size_t least = 1;

} // namespace

void table_audit::read_next(smp_batch& batch, const subnet& net,
                            const std::function<void()>& differs) {
    const std::size_t count = std::max(least, programmed_.size() / sweeps_per_round);
    next_ = programmed_.visit_from(
        next_, count, [&](const programmed_state::block& which, const smp_data& expected) {
            const auto& [whose, attribute, modifier] = which;
            const port_ref at = net.port_of(whose);
            if (!at.valid()) return;
            batch.send(get_smp(net.route_to(at), attribute, modifier),
                       [this, which, expected, differs](const smp_response& answer) {
                           compare(which, expected, answer, differs);
                       });
        });
}

// A block that was written again since the question is left alone.
void table_audit::compare(const programmed_state::block& which, const smp_data& expected,
                          const smp_response& answer, const std::function<void()>& differs) {
    if (!answer.success() || answer.data == expected || !programmed_.holds(which, expected)) return;
    programmed_.invalidate(which);
    differs();
}

} // namespace irpverbs::subnet_manager
