// The process whose addresses a verb's parameters hold.
#pragma once

#include <ci/driver.h>
#include <irp/mdl.h>
#include <irp/wdm.h>

namespace irpverbs::ci {

class address_space;

/// True if the addresses in the parameters are those of another process: a user calls, and the
/// caller has captured all buffers that the parameters name. IRQL: any.
inline bool is_of_another_process(const IRP* irp) {
    return irp->RequestorMode == UserMode && (irp->Flags & IRP_BUFFERED_IO) != 0;
}

/// The memory of the region that such a verb registers or changes, where this process has it
/// mapped: the MDL holds as many bytes as there are from the first one on, and stays mapped as long
/// as the region has that memory. Null: only its owner has it mapped. IRQL: any.
inline const MDL* mapped_region(const IRP* irp) {
    return is_of_another_process(irp) ? irp->MdlAddress : nullptr;
}

/// Sets the memory that the addresses in the regions of a client mean, before the client has any:
/// that of another process, or this one's for copies by the system. Ownership: the caller's; it
/// lives until the CA is closed. IRQL: any.
void set_client_memory(IB_CA* ca, const address_space* memory);

/// Null: the addresses are those of this process, or the memory of the other one is out of reach.
/// IRQL: any.
const address_space* client_memory(const HCA_CA* ca);

} // namespace irpverbs::ci
