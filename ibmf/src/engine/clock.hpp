#ifndef IRPVERBS_IBMF_ENGINE_CLOCK_HPP
#define IRPVERBS_IBMF_ENGINE_CLOCK_HPP

#include <dispatch/detail/processor.hpp>
#include <dispatch/machine.hpp>
#include <rmpp/protocol.hpp>

namespace irpverbs::ibmf {

using rmpp::never;
using rmpp::ticks;

/// The machine's, not before the true time and cheaper; what is set by it is due early only when
/// the kernel's tick is late.
inline ticks now_or_later() { return dispatch::detail::this_processor().owner->late_time(); }

/// The machine's, exactly.
inline ticks now_exactly() { return dispatch::detail::this_processor().owner->interrupt_time(); }

} // namespace irpverbs::ibmf

#endif
