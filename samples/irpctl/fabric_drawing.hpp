// A subnet as a picture.
#pragma once

#include "fabric_map.hpp"

namespace irpctl {

/// For Graphviz.
std::string dot_of(const fabric_map& map);

/// Hosts in the lowest row, each switch above what is nearer to them.
std::string svg_of(const fabric_map& map);

} // namespace irpctl
