#include "faults.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/testing/probe.hpp>

namespace irpverbs::hca_software {

namespace {

bool fires(link_faults& faults, const char* what, ULONG once_in) {
    dispatch::machine& here = dispatch::machine::current();
    if (here.simulated()) return here.fires(what, once_in);
    return once_in != 0 && faults.chance.below(once_in) == 0;
}

machine_time random_up_to(link_faults& faults, ULONG microseconds) {
    if (microseconds == 0) return 0;
    dispatch::machine& here = dispatch::machine::current();
    const std::uint64_t drawn = here.simulated() ? here.random() : faults.chance.next();
    return drawn % (microseconds * microsecond + 1);
}

} // namespace

fault_outcome choose_faults(link_faults& faults, machine_time when) {
    const HCA_SOFTWARE_FAULTS& configured = faults.configured;
    fault_outcome outcome;
    if (fires(faults, "hca.software.flap", configured.FlapOnceIn)) {
        outcome.flaps = outcome.lost = true;
        return outcome;
    }
    if (fires(faults, "hca.software.partition", configured.PartitionOnceIn))
        faults.partitioned_until = when + configured.PartitionTime * microsecond;
    outcome.lost = when < faults.partitioned_until;
    outcome.corrupted = !outcome.lost && fires(faults, "hca.software.loss", configured.LossOnceIn);
    outcome.lost |= outcome.corrupted;
    if (outcome.corrupted) IRPVERBS_PROBE("fabric.lost");
    if (outcome.lost) return outcome;
    outcome.duplicated = fires(faults, "hca.software.duplication", configured.DuplicationOnceIn);
    if (outcome.duplicated) IRPVERBS_PROBE("fabric.duplicated");
    outcome.delay = configured.Delay * microsecond + random_up_to(faults, configured.Jitter);
    outcome.reordered = fires(faults, "hca.software.reordering", configured.ReorderingOnceIn);
    if (outcome.reordered) {
        IRPVERBS_PROBE("fabric.reordered");
        outcome.delay += random_up_to(faults, configured.ReorderingTime);
    }
    return outcome;
}

} // namespace irpverbs::hca_software
