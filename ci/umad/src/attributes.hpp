// The attributes of devices and ports in libibumad's form, and the choice of a port.
#pragma once

#include <drop_in/devices.hpp>

#include <infiniband/umad.h>

#include <cstdint>

namespace irpverbs::umad {

/// A port as a program names it: a null name is any device, 0 any port.
struct port_choice {
    const drop_in::device* device = nullptr;
    int port = 0;
};

/// Chooses as libibumad does: the first port that is active; else the first with a link; else the
/// first that is not disabled. A port that is named must exist. Returns 0, or ENODEV; EINVAL for a
/// device or port that is named and does not exist. Throws dispatch::status_error. IRQL:
/// PASSIVE_LEVEL.
int choose_port(const char* name, int port, port_choice& chosen);

/// The device of that name; null: the first that choose_port finds a port on. Throws
/// dispatch::status_error.
const drop_in::device* choose_device(const char* name);

/// Returns 0, or ENOMEM. Throws dispatch::status_error. IRQL: PASSIVE_LEVEL.
int read_ca(const drop_in::device& which, umad_ca_t& ca);
/// Frees what read_ca allocated.
void free_ca(umad_ca_t& ca);

/// Gb/s of a link as sysfs shows it, rounded down. Parameters: IB_LINK_WIDTH and IB_LINK_SPEED.
unsigned rate_of(unsigned width, unsigned speed);

} // namespace irpverbs::umad
