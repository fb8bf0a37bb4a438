#include "asio_handlers.hpp"

namespace irpverbs::dispatch::sim {

namespace {

using innermost = boost::asio::detail::tss_ptr<running_handlers::context>;

innermost& place();

// C++ lets the arguments of an explicit instantiation name private members.
template <innermost* Place>
struct reached {
    friend innermost& place() { return *Place; }
};
template struct reached<&running_handlers::top_>;

} // namespace

running_handlers::context* innermost_handler() { return place(); }

void forget_handlers_in(running_handlers::context* innermost) { place() = innermost; }

} // namespace irpverbs::dispatch::sim
