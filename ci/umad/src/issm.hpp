// The files that make ports subnet managers while they are open.
#pragma once

#include "attributes.hpp"

#include <string>

namespace irpverbs::umad {

/// The path of the port's file, in this process. While the program has it open, the port has
/// IB_PORT_CAP_IS_SM, unless another client of the HCA holds that. Throws std::system_error and
/// dispatch::status_error. IRQL: PASSIVE_LEVEL.
std::string issm_path(const port_choice& of);

} // namespace irpverbs::umad
