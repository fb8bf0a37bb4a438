#include "faults.hpp"

#include <dispatch/machine.hpp>

namespace irpverbs::hca_software {

namespace {

bool fires(link_faults& faults, const char* what, ULONG once_in) {
    dispatch::machine& here = dispatch::machine::current();
    if (here.simulated()) return here.fires(what, once_in);
    return once_in != 0 && faults.chance.below(once_in) == 0;
}

machine_time up_to(link_faults& faults, ULONG microseconds) {
    if (microseconds == 0) return 0;
    dispatch::machine& here = dispatch::machine::current();
    const std::uint64_t drawn = here.simulated() ? here.random() : faults.chance.next();
    return drawn % (microseconds * microsecond + 1);
}

} // namespace

mishap draw_mishap(link_faults& faults, machine_time when) {
    const HCA_SOFTWARE_FAULTS& wanted = faults.wanted;
    mishap met;
    if (fires(faults, "hca.software.flap", wanted.FlapOnceIn)) {
        met.flaps = met.lost = true;
        return met;
    }
    if (fires(faults, "hca.software.partition", wanted.PartitionOnceIn))
        faults.silent_until = when + wanted.PartitionTime * microsecond;
    met.lost = when < faults.silent_until;
    met.damaged = !met.lost && fires(faults, "hca.software.loss", wanted.LossOnceIn);
    met.lost |= met.damaged;
    if (met.lost) return met;
    met.doubled = fires(faults, "hca.software.duplication", wanted.DuplicationOnceIn);
    met.late = wanted.Delay * microsecond + up_to(faults, wanted.Jitter);
    met.overtaken = fires(faults, "hca.software.reordering", wanted.ReorderingOnceIn);
    if (met.overtaken) met.late += up_to(faults, wanted.ReorderingTime);
    return met;
}

} // namespace irpverbs::hca_software
