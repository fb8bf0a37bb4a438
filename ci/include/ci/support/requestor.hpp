// The process whose addresses a verb's parameters hold.
#pragma once

#include <irp/wdm.h>

namespace irpverbs::ci {

/// True if the addresses in the parameters are those of another process: a user calls, and the
/// caller has captured all buffers that the parameters name. IRQL: any.
inline bool is_of_another_process(const IRP* irp) {
    return irp->RequestorMode == UserMode && (irp->Flags & IRP_BUFFERED_IO) != 0;
}

} // namespace irpverbs::ci
