// The completion token of irpctl for operations with more than one kind of failure: the awaited
// tuple begins with the error.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace irpctl {

inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace irpctl
