/// Ports of Ethernet in C++: cm/ethernet.h.
#pragma once

#include <cm/ethernet.h>
#include <cm/handles.hpp>
#include <dispatch/status.hpp>

namespace irpverbs::cm {

/// CmQueryEthernetPath. Throws dispatch::status_error.
inline sa_path_record_t query_ethernet_path(IB_CM* at, const ib_gid_t& address) {
    sa_path_record_t path{};
    const NTSTATUS status = CmQueryEthernetPath(at, &address, &path);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status);
    return path;
}

/// CmIpOfPath.
inline ib_cm_ip_t ip_of_path(const sa_path_record_t& path, USHORT src_port = 0) noexcept {
    return CmIpOfPath(&path, src_port);
}

} // namespace irpverbs::cm
