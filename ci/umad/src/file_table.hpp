// The open ports of the process, by descriptor.
#pragma once

#include "port_file.hpp"

#include <memory>

namespace irpverbs::umad {

/// Adds the port, in place of an earlier one whose descriptor the program closed by itself.
void add_file(std::shared_ptr<port_file> file);
/// Null: the descriptor is no open port.
std::shared_ptr<port_file> find_file(int descriptor);
/// Like find_file; the table no longer holds the port.
std::shared_ptr<port_file> take_file(int descriptor);

} // namespace irpverbs::umad
