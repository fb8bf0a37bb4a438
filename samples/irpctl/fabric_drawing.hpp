// A subnet as a picture.
#pragma once

#include "fabric_map.hpp"

namespace irpctl {

/// Returns the subnet as a graph for Graphviz.
std::string dot_of(const fabric_map& map);

/// Returns the subnet as SVG: hosts in the lowest row, each switch above the nodes that are nearer
/// to the hosts.
std::string svg_of(const fabric_map& map);

} // namespace irpctl
