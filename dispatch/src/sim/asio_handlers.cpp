#include "asio_handlers.hpp"

namespace irpverbs::dispatch::sim {

namespace {

using innermost = boost::asio::detail::tss_ptr<running_handlers::context>;

innermost& top_of_stack();

// C++ lets the arguments of an explicit instantiation name private members. A Boost without this
// member, or with one of another type, does not compile; SimContext.RunningHandlers_* tests its
// meaning, which a list of versions could not.
template <innermost* Place>
struct private_member_access {
    friend innermost& top_of_stack() { return *Place; }
};
template struct private_member_access<&running_handlers::top_>;

} // namespace

running_handlers::context* innermost_handler() { return top_of_stack(); }

void unlink_handlers_in(running_handlers::context* innermost) { top_of_stack() = innermost; }

} // namespace irpverbs::dispatch::sim
