// Faults of links, as configured and as chosen for a datagram.
#pragma once

#include "event_scheduler.hpp"

#include <dispatch/testing/choices.hpp>
#include <hca/software.h>

namespace irpverbs::hca_software {

/// The faults of a link; both its ends refer to them. Guarded by the fabric's lock.
struct link_faults {
    explicit link_faults(const HCA_SOFTWARE_FAULTS& asked_for)
        : configured(asked_for), chance(asked_for.Seed) {}

    const HCA_SOFTWARE_FAULTS configured;
    dispatch::detail::generator chance; // used on a real machine
    machine_time partitioned_until = 0; // end of the partition
};

/// The faults of one datagram on one link.
struct fault_outcome {
    bool lost = false;
    bool corrupted = false; // it is lost, and the other end counts it as corrupted
    bool duplicated = false;
    bool reordered = false; // datagrams that are sent later may arrive earlier
    bool flaps = false;     // the link flaps
    machine_time delay = 0;
};

/// Chooses the faults of a datagram that is sent at `when`.
fault_outcome choose_faults(link_faults& faults, machine_time when);

} // namespace irpverbs::hca_software
