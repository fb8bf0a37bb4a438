// How accesses become IRPs to the device.
#pragma once

#include <access/registry.hpp>
#include <saa/detail/requests.hpp>

namespace irpverbs::saa {

/// Locations that an IRP of an access needs.
inline constexpr CCHAR request_stack = 1;

/// What the device does with an IRP.
NTSTATUS dispatch_access(DEVICE_OBJECT* device, IRP* irp);

/// As detail::start_access, of a session that no client has.
void start_access(IRP* irp, detail::access_request& request, session& by,
                  const ibmf_saa_access_args_t& args);

} // namespace irpverbs::saa
