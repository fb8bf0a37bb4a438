// The progress of a long command, on standard error while that is a terminal.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

namespace irpctl {

/// Runs the work. Prints the result of `line` twice a second, from the first second on, and erases
/// it at the end.
boost::asio::awaitable<void> while_showing(std::function<std::string()> line,
                                           boost::asio::awaitable<void> work);

} // namespace irpctl
