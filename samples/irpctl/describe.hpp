// Attributes as objects. Their keys stay the same from version to version.
#pragma once

#include "session.hpp"

#include <boost/json/object.hpp>

namespace irpctl {

/// Returns the attributes with a "limits" object and a "ports" array, which has the columns of
/// `irpctl devices`.
boost::json::object describe(const device& which, const IB_CA_ATTR& attributes);

/// Returns all attributes, and the GID and P_Key tables.
boost::json::object describe(const device& which, const IB_PORT_ATTR& attributes);

} // namespace irpctl
