// Asio keeps by thread which handlers run, on their stacks: who gives such a stack up must tell it.
#pragma once

#include <boost/asio/detail/call_stack.hpp>
#include <boost/asio/detail/thread_context.hpp>
#include <boost/asio/detail/thread_info_base.hpp>

namespace irpverbs::dispatch::sim {

using running_handlers = boost::asio::detail::call_stack<boost::asio::detail::thread_context,
                                                         boost::asio::detail::thread_info_base>;

/// The innermost; null: none.
running_handlers::context* innermost_handler();

/// Those inside of it are no more.
void forget_handlers_in(running_handlers::context* innermost);

} // namespace irpverbs::dispatch::sim
