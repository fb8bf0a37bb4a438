// The attributes of a channel adapter and its ports that the kernel lets programs change: the
// description, and the port's capability IsSM.
#include "operations.hpp"

#include "adapter.hpp"
#include "failure.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

// The capability is set while the port's issm file is open, and one program may open it.
NTSTATUS hold(const adapter& self, UCHAR number, int& file) {
    if (file != 0) return STATUS_SUCCESS;
    std::array<char, 256> path{};
    if (self.os().get_issm_path(self.name().c_str(), number, path.data(), path.size()) != 0)
        return STATUS_NOT_SUPPORTED;
    const int descriptor = self.os().open_file(path.data());
    if (descriptor >= 0) {
        file = descriptor + 1;
        return STATUS_SUCCESS;
    }
    if (errno == EAGAIN || errno == EBUSY) return STATUS_FILE_LOCK_CONFLICT;
    return errno == ENOENT ? STATUS_NOT_SUPPORTED : status_of(errno);
}

void release(const adapter& self, int& file) {
    if (file != 0) self.os().close_file(std::exchange(file, 0) - 1);
}

NTSTATUS release_own(HCA_CA* ca, UCHAR number, int& file) {
    if (file != 0) {
        release(adapter::of(ca->Device), file);
        return STATUS_SUCCESS;
    }
    port_attributes now;
    if (const NTSTATUS status = read_port(ca, number, false, now); !NT_SUCCESS(status))
        return status;
    const bool others = (now.fixed.CapabilityMask & IB_PORT_CAP_IS_SM) != 0;
    return others ? STATUS_FILE_LOCK_CONFLICT : STATUS_SUCCESS;
}

} // namespace

NTSTATUS modify_ca(HCA_CA* ca, ULONG flags, const IB_MODIFY_CA* modify, PIRP) try {
    if ((flags & IB_MODIFY_CA_SYSTEM_IMAGE_GUID) != 0) return STATUS_NOT_SUPPORTED;
    if ((flags & IB_MODIFY_CA_NODE_DESCRIPTION) == 0) return STATUS_SUCCESS;
    const adapter& self = adapter::of(ca->Device);
    const auto* text = reinterpret_cast<const char*>(modify->NodeDescription);
    return status_of(self.os().write_file(folder_of(self.name()) + "node_desc",
                                          {text, strnlen(text, IB_NODE_DESCRIPTION_SIZE)}));
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS modify_port(HCA_CA* ca, UCHAR number, ULONG flags, const IB_MODIFY_PORT* modify,
                     PIRP) try {
    if (flags == 0) return STATUS_SUCCESS;
    const ULONG named = modify->SetCapabilities | modify->ClearCapabilities;
    std::array<int, UMAD_CA_MAX_PORTS>& files = extension_of(ca).issm_files;
    if (flags != IB_MODIFY_PORT_CAPABILITIES || (named & ~IB_PORT_CAP_IS_SM) != 0 ||
        number >= files.size())
        return STATUS_NOT_SUPPORTED;
    if (modify->SetCapabilities != 0) return hold(adapter::of(ca->Device), number, files[number]);
    if (modify->ClearCapabilities != 0) return release_own(ca, number, files[number]);
    return STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

void release_ports(HCA_CA* ca) {
    for (int& each : extension_of(ca).issm_files)
        release(adapter::of(ca->Device), each);
}

} // namespace irpverbs::hca_rdma
