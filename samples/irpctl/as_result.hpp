// How irpctl awaits what may fail in more than one way: the error comes first in a tuple.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace irpctl {

inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace irpctl
