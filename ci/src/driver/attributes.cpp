// Output of a driver to buffers of callers, cut at their end; blocks of attributes are laid out
// whole.
#include <ci/driver.h>

#include <algorithm>
#include <cstring>

namespace {

// Writes pieces of a block at their places, cut at the end of the buffer.
class writer {
public:
    writer(void* buffer, std::size_t size) : buffer_(static_cast<char*>(buffer)), size_(size) {}

    void put(std::size_t place, const void* piece, std::size_t bytes) {
        if (place < size_ && bytes != 0)
            std::memcpy(buffer_ + place, piece, std::min(bytes, size_ - place));
    }

private:
    char* buffer_;
    std::size_t size_;
};

std::size_t aligned(std::size_t place) { return (place + 7) & ~std::size_t{7}; }

// Bytes of a port's tables.
std::size_t gid_bytes(const IB_PORT_ATTR& port) { return port.GidCount * sizeof(ib_gid_t); }
std::size_t pkey_bytes(const IB_PORT_ATTR& port) { return port.PKeyCount * sizeof(ib_pkey_t); }
std::size_t table_bytes(const IB_PORT_ATTR& port) {
    return aligned(gid_bytes(port) + pkey_bytes(port));
}

// Writes the port at `place` and its tables at `tables_at`.
void put_port(writer& out, IB_PORT_ATTR port, const HCA_PORT_TABLES& tables, std::size_t place,
              std::size_t tables_at) {
    port.Size = static_cast<ULONG>(sizeof(port) + table_bytes(port));
    port.GidOffset = static_cast<ULONG>(tables_at - place);
    port.PKeyOffset = static_cast<ULONG>(port.GidOffset + gid_bytes(port));
    out.put(place, &port, sizeof(port));
    out.put(tables_at, tables.Gids, gid_bytes(port));
    out.put(tables_at + gid_bytes(port), tables.PKeys, pkey_bytes(port));
    constexpr UCHAR padding[8] = {};
    const std::size_t used = gid_bytes(port) + pkey_bytes(port);
    out.put(tables_at + used, padding, aligned(used) - used);
}

NTSTATUS set_information(IRP* irp, std::size_t needed, std::size_t available) {
    irp->IoStatus.Information = std::min(needed, available);
    return needed <= available ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

} // namespace

extern "C" {

NTSTATUS HcaCopyPortAttributes(const IB_PORT_ATTR* Fixed, const HCA_PORT_TABLES* Tables,
                               IB_PORT_ATTR* Attr, SIZE_T AttrSize, PIRP Irp) {
    const std::size_t needed = sizeof(*Fixed) + table_bytes(*Fixed);
    writer out(Attr, AttrSize);
    put_port(out, *Fixed, *Tables, 0, sizeof(*Fixed));
    return set_information(Irp, needed, AttrSize);
}

NTSTATUS HcaCopyCaAttributes(const IB_CA_ATTR* Fixed, const IB_PORT_ATTR* Ports,
                             const HCA_PORT_TABLES* Tables, IB_CA_ATTR* Attr, SIZE_T AttrSize,
                             PIRP Irp) {
    constexpr std::size_t ports_at = (sizeof(IB_CA_ATTR) + 7) & ~std::size_t{7};
    std::size_t end = ports_at + Fixed->PortCount * sizeof(IB_PORT_ATTR);
    writer out(Attr, AttrSize);
    for (ULONG i = 0; i < Fixed->PortCount; ++i) {
        put_port(out, Ports[i], Tables[i], ports_at + i * sizeof(IB_PORT_ATTR), end);
        end += table_bytes(Ports[i]);
    }
    IB_CA_ATTR fixed = *Fixed;
    fixed.Size = static_cast<ULONG>(end);
    fixed.PortOffset = ports_at;
    out.put(0, &fixed, sizeof(fixed));
    return set_information(Irp, end, AttrSize);
}

NTSTATUS HcaCopyAttributes(const VOID* Block, ULONG Size, VOID* Attr, SIZE_T AttrSize, PIRP Irp) {
    std::memcpy(Attr, Block, std::min<std::size_t>(Size, AttrSize));
    return set_information(Irp, Size, AttrSize);
}

void HcaCopyUserData(CI_UDATA* UserData, const VOID* Data, SIZE_T Size) NT_NOEXCEPT {
    if (UserData == nullptr) return;
    writer(UserData->pOutputBuffer, UserData->OutputSize).put(0, Data, Size);
    UserData->OutputSize = std::min(UserData->OutputSize, Size);
}

} // extern "C"
