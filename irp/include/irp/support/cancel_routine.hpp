// IoSetCancelRoutine inline: a bare exchange when the call is not instrumented.
#pragma once

#include <dispatch/support/processor.hpp>
#include <irp/irp.h>

namespace irpverbs::irp::detail {

/// A caller that receives a routine owns the completion.
inline PDRIVER_CANCEL exchange_cancel_routine(PIRP irp, PDRIVER_CANCEL routine) {
    if (dispatch::detail::instrumented()) [[unlikely]]
        return IoSetCancelRoutine(irp, routine);
    return __atomic_exchange_n(&irp->CancelRoutine, routine, __ATOMIC_SEQ_CST);
}

} // namespace irpverbs::irp::detail
