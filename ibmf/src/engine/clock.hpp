#ifndef IRPVERBS_IBMF_ENGINE_CLOCK_HPP
#define IRPVERBS_IBMF_ENGINE_CLOCK_HPP

#include <dispatch/detail/processor.hpp>
#include <dispatch/machine.hpp>
#include <rmpp/protocol.hpp>

namespace irpverbs::ibmf {

using rmpp::never;
using rmpp::ticks;

/// The exact time of the machine.
inline ticks now_exactly() { return dispatch::detail::this_processor().owner->interrupt_time(); }

} // namespace irpverbs::ibmf

#endif
