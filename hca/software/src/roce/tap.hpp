// TAP devices: interfaces of this computer whose other end of the link is a program.
#pragma once

#include "interface.hpp"
#include "packet_descriptor.hpp"

namespace irpverbs::hca_software::roce {

/// Returns the host at the other end of a TAP device's link, with these addresses and a link-local
/// one. Its hardware address is the device's with another bit, so it is the same each time. None:
/// `problem` explains `status`. STATUS_OBJECT_NAME_INVALID: the name is too long for an interface;
/// an address is none of a host, or is there twice. STATUS_NO_SUCH_DEVICE: no interface has the
/// name, or it has no hardware address. STATUS_DEVICE_NOT_READY: its administrator has not enabled
/// it. STATUS_SHARING_VIOLATION: an address is this computer's. IRQL: PASSIVE_LEVEL, as the next.
std::optional<interface> find_other_end(const std::string& tap,
                                        const std::vector<ib_gid_t>& addresses, NTSTATUS& status,
                                        std::string& problem);

/// Opens a TAP device, and waits until the system sends by it. None: `problem` explains `status`.
/// STATUS_NO_SUCH_DEVICE: the interface is no TAP device, or the system has none.
/// STATUS_ACCESS_DENIED: it belongs to another user. STATUS_SHARING_VIOLATION: another program has
/// it. STATUS_INSUFFICIENT_RESOURCES: the system refuses.
std::optional<packet_descriptor> open_tap(const std::string& name, NTSTATUS& status,
                                          std::string& problem);

} // namespace irpverbs::hca_software::roce
