// One run of a script.
#pragma once

#include "driver_module.hpp"
#include "script.hpp"

#include <dispatch/sim_machine.hpp>

#include <optional>
#include <string>

namespace drive {

/// Loads the driver, plays the script and unloads the driver again. Returns the first command that
/// did not end as expected; does not return from a run that the machine ends.
std::optional<std::string> play(irpverbs::dispatch::sim_machine& machine, driver_module& driver,
                                const script& what);

} // namespace drive
