// What goes wrong on links, as it was asked for and as it is drawn.
#pragma once

#include "wire.hpp"

#include <dispatch/choices.hpp>
#include <hca/software.h>

namespace irpverbs::hca_software {

/// Of a link; both its ends refer to it. Guarded by the fabric's lock.
struct link_faults {
    explicit link_faults(const HCA_SOFTWARE_FAULTS& asked_for)
        : wanted(asked_for), chance(asked_for.Seed) {}

    const HCA_SOFTWARE_FAULTS wanted;
    dispatch::detail::generator chance; // on a real machine
    machine_time silent_until = 0;      // it is partitioned
};

/// What happens to one datagram on one link.
struct mishap {
    bool lost = false;
    bool damaged = false; // why it is lost: the other end sees that there was one
    bool doubled = false;
    bool overtaken = false; // those sent later need not stay behind it
    bool flaps = false;     // with it the link
    machine_time late = 0;
};

/// Draws it, for a datagram that is sent at `when`.
mishap draw_mishap(link_faults& faults, machine_time when);

} // namespace irpverbs::hca_software
