// Forced pending: an IRP that its driver completes at once comes back later instead, from a DPC on
// another processor, and IoCallDriver says STATUS_PENDING: what every caller must be ready for.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Whether that call's completion is to be held back. Under the ledger's lock.
bool to_be_forced(core::processor& self, ledger& book, const DEVICE_OBJECT& device, UCHAR major,
                  const void* caller);

/// The dispatch routine returned. If its completion was held back, that goes on later, and the
/// status is STATUS_PENDING; otherwise the status is as it was.
NTSTATUS deliver_later(core::processor& self, ledger& book, const frame& mine, NTSTATUS status);

/// The walk up goes on from where it was held back.
void resume_completion(IRP* irp);

} // namespace irpverbs::irp::verify
