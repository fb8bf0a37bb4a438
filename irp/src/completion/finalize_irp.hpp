// The steps of the last stage of an IRP.
#pragma once

#include <irp/irp.h>

namespace irpverbs::irp {

/// Frees the system buffer and the MDLs of an IRP.
void free_buffers(IRP* irp);

/// Copies the output back from the system buffer, which has room for `output_length` bytes, and
/// frees buffer and MDLs.
void return_buffers(IRP* irp, ULONG output_length);

/// Writes *to, unless it is null; the status last, since other threads may poll it.
void write_status(PIO_STATUS_BLOCK to, const IO_STATUS_BLOCK& status);

} // namespace irpverbs::irp
