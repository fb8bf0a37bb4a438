// Attributes as objects whose keys stay the same from version to version.
#pragma once

#include "session.hpp"

#include <boost/json/object.hpp>

namespace irpctl {

/// With a "limits" object, and a "ports" array of what `irpctl devices` shows of each.
boost::json::object describe(const device& which, const IB_CA_ATTR& attributes);

/// All attributes, and the GID and P_Key tables.
boost::json::object describe(const device& which, const IB_PORT_ATTR& attributes);

} // namespace irpctl
