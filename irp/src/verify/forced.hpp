// Forced pending: the completion of an IRP that its driver completes at once is deferred to a DPC
// on another processor, and IoCallDriver returns STATUS_PENDING. Every caller must handle that
// case.
#pragma once

#include "ledger.hpp"

namespace irpverbs::irp::verify {

/// Decides whether that call's completion is deferred. Called under the ledger's lock.
bool to_be_forced(core::processor& self, ledger& book, const DEVICE_OBJECT& device, UCHAR major,
                  const void* caller);

/// Called after the dispatch routine returned. If its completion was deferred, this queues the DPC
/// that continues it and returns STATUS_PENDING; otherwise returns `status`.
NTSTATUS deliver_later(core::processor& self, ledger& book, const frame& mine, NTSTATUS status);

/// Continues a deferred completion at the location where it stopped.
void resume_completion(IRP* irp);

} // namespace irpverbs::irp::verify
