#include "asio_handlers.hpp"

namespace irpverbs::dispatch::sim {

namespace {

using innermost = boost::asio::detail::tss_ptr<running_handlers::context>;

innermost& place();

// The arguments of an explicit instantiation may name what is private.
template <innermost* Place>
struct reached {
    friend innermost& place() { return *Place; }
};
template struct reached<&running_handlers::top_>;

} // namespace

running_handlers::context* innermost_handler() { return place(); }

void forget_handlers_in(running_handlers::context* innermost) { place() = innermost; }

} // namespace irpverbs::dispatch::sim
