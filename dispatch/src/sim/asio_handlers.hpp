// Access to Asio's list of running handlers. Asio keeps the list by thread, and its entries lie on
// the handlers' stacks: code that abandons such a stack must remove its entries.
#pragma once

#include <boost/asio/detail/call_stack.hpp>
#include <boost/asio/detail/thread_context.hpp>
#include <boost/asio/detail/thread_info_base.hpp>

namespace irpverbs::dispatch::sim {

using running_handlers = boost::asio::detail::call_stack<boost::asio::detail::thread_context,
                                                         boost::asio::detail::thread_info_base>;

/// The innermost running handler; null: no handler runs.
running_handlers::context* innermost_handler();

/// Removes the handlers that run inside `innermost` from the list.
void unlink_handlers_in(running_handlers::context* innermost);

} // namespace irpverbs::dispatch::sim
