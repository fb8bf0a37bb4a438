// Sends accesses as IRPs to the device.
#pragma once

#include <access/session_table.hpp>
#include <saa/support/requests.hpp>

namespace irpverbs::saa {

/// The stack locations of an access's IRP.
inline constexpr CCHAR request_stack = 1;

/// The device's dispatch routine.
NTSTATUS dispatch_access(DEVICE_OBJECT* device, IRP* irp);

/// Starts an access of an internal session, as detail::start_access.
void start_access(IRP* irp, detail::access_request& request, session& by,
                  const ibmf_saa_access_args_t& args);

} // namespace irpverbs::saa
