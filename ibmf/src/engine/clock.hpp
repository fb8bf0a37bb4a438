#ifndef IRPVERBS_IBMF_ENGINE_CLOCK_HPP
#define IRPVERBS_IBMF_ENGINE_CLOCK_HPP

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>
#include <rmpp/protocol.hpp>

namespace irpverbs::ibmf {

using rmpp::never;
using rmpp::ticks;

/// The exact time of the machine.
inline ticks exact_time() { return dispatch::detail::this_processor().owner->interrupt_time(); }

} // namespace irpverbs::ibmf

#endif
