// How far a long table is, on standard error, while that is a terminal.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

namespace irpctl {

/// Has the work done. Shows what `line` says twice a second, from the first second on, and takes it
/// away at the end.
boost::asio::awaitable<void> while_showing(std::function<std::string()> line,
                                           boost::asio::awaitable<void> work);

} // namespace irpctl
