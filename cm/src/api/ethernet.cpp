// CmQueryEthernetPath, CmIpOfPath.
#include "device.hpp"

#include <cm/ethernet.h>

#include <boost/endian/conversion.hpp>

using namespace irpverbs::cm::engine;

namespace {

constexpr UCHAR ipv4 = 4;
constexpr UCHAR ipv6 = 6;

// An IPv4 address has zeros in front of it here, and is mapped in its GID.
void store_address(const ib_gid_t& from, UCHAR version, UCHAR (&to)[16]) {
    if (version == ipv4)
        return boost::endian::store_big_u32(&to[12], static_cast<ULONG>(from.gid_guid));
    boost::endian::store_big_u64(&to[0], from.gid_prefix);
    boost::endian::store_big_u64(&to[8], from.gid_guid);
}

} // namespace

extern "C" {

NTSTATUS CmQueryEthernetPath(IB_CM* pCm, const ib_gid_t* pAddress, sa_path_record_t* pPath) {
    if (pCm == nullptr || pAddress == nullptr || pPath == nullptr) return STATUS_INVALID_PARAMETER;
    cm_port& at = *client::of(pCm).at;
    const cm_port::guard locked(at);
    if (!at.attributes().is_ethernet) return STATUS_NOT_SUPPORTED;
    const auto made = at.attributes().path_to(*pAddress);
    if (!made) return STATUS_HOST_UNREACHABLE;
    *pPath = *made;
    return STATUS_SUCCESS;
}

ib_cm_ip_t CmIpOfPath(const sa_path_record_t* pPath, USHORT SrcPort) {
    ib_cm_ip_t made{};
    made.ip_version = is_ipv4(pPath->SGID) ? ipv4 : ipv6;
    made.src_port = SrcPort;
    store_address(pPath->SGID, made.ip_version, made.src);
    store_address(pPath->DGID, made.ip_version, made.dst);
    return made;
}

} // extern "C"
