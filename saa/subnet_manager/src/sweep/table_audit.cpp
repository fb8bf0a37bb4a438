#include "table_audit.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

// A round through all tables takes this many light sweeps, or more where that is less than `least`
// blocks a sweep.
constexpr std::size_t sweeps_a_round = 60;
constexpr std::size_t least = 1;

} // namespace

void table_audit::read_next(smp_batch& batch, const subnet& net,
                            const std::function<void()>& differs) {
    const std::size_t count = std::max(least, written_.size() / sweeps_a_round);
    next_ = written_.visit_from(
        next_, count, [&](const written_state::block& which, const smp_data& expected) {
            const auto& [whose, attribute, modifier] = which;
            const port_ref at = net.port_of(whose);
            if (!at.valid()) return;
            batch.ask(get_smp(net.way_to(at), attribute, modifier),
                      [this, which, expected, differs](const smp_answer& answer) {
                          compare(which, expected, answer, differs);
                      });
        });
}

// A block that was written again since the question is left alone.
void table_audit::compare(const written_state::block& which, const smp_data& expected,
                          const smp_answer& answer, const std::function<void()>& differs) {
    if (!answer.success() || answer.data == expected || !written_.holds(which, expected)) return;
    written_.forget(which);
    differs();
}

} // namespace irpverbs::subnet_manager
