#include "mad_message.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <endian.h>

namespace irpverbs::hca_rdma {

namespace {

// Offsets in a datagram. Source: IBA 13.4.2, 13.6.2.
constexpr std::size_t class_at = 1;
constexpr std::size_t method_at = 3;
constexpr std::size_t transaction_at = 12; // the low half
constexpr std::size_t rmpp_version_at = 24;
constexpr std::size_t rmpp_type_at = 25;
constexpr std::size_t rmpp_flags_at = 26;
constexpr std::size_t rmpp_end = 36;

constexpr UCHAR response_bit = 0x80;
constexpr UCHAR trap_repress = 0x07;
constexpr UCHAR rmpp_data = 1;
constexpr UCHAR rmpp_active = 1;

constexpr int segment_retries = 3; // by the kernel, per segment without an ACK

// With a timeout from 1 ms to 2 s the kernel's RMPP never repeats a segment, except the first one.
constexpr std::uint32_t min_timeout = 2001;

bool is_segmented(const IB_MAD_SEND& from) {
    if (from.Length > IB_MAD_SIZE) return true;
    const auto* data = static_cast<const UCHAR*>(from.Data);
    return from.Length >= rmpp_end && (data[rmpp_flags_at] & rmpp_active) != 0;
}

void write_address(const IB_MAD_ADDRESS& to, ib_mad_addr_t& address) {
    address.qpn = htobe32(to.Qp);
    address.qkey = htobe32(to.QKey);
    address.lid = htobe16(to.Lid);
    address.sl = to.ServiceLevel;
    address.path_bits = to.PathBits;
    address.pkey_index = to.PKeyIndex;
    if ((to.Flags & IB_MAD_GRH) == 0) return;
    address.grh_present = 1;
    address.gid_index = to.GidIndex;
    address.hop_limit = to.HopLimit;
    address.traffic_class = to.TrafficClass;
    address.flow_label = htobe32(to.FlowLabel);
    const std::array<std::uint64_t, 2> gid{htobe64(to.Gid.gid_prefix), htobe64(to.Gid.gid_guid)};
    std::memcpy(address.gid, gid.data(), sizeof(address.gid));
}

} // namespace

bool has_rmpp(UCHAR management_class) {
    return management_class == 0x03 || management_class == 0x10 || management_class == 0x12 ||
           IbClassHasOui(management_class);
}

bool is_subnet_management(UCHAR management_class) {
    return management_class == 0x01 || management_class == 0x81;
}

bool is_response(std::span<const UCHAR> datagram) {
    const UCHAR method = datagram[method_at];
    return (method & response_bit) != 0 || method == trap_repress;
}

UCHAR class_of(std::span<const UCHAR> datagram) { return datagram[class_at]; }

std::uint32_t transaction_of(std::span<const UCHAR> datagram) {
    std::uint32_t low = 0;
    std::memcpy(&low, &datagram[transaction_at], sizeof(low));
    return be32toh(low);
}

outgoing::outgoing(const IB_MAD_SEND& from, bool kernel_rmpp) : message_(small_) {
    const bool segmented = kernel_rmpp && is_segmented(from);
    // A single segment has the length of a segment on the wire.
    const std::size_t length = segmented ? from.Length : IB_MAD_SIZE;
    if (length > IB_MAD_SIZE) {
        large_.resize(umad_header_size + length);
        message_ = large_;
    }
    message_ = message_.first(umad_header_size + length);
    std::memcpy(datagram_of(message_).data(), from.Data, from.Length);
    ib_user_mad_t& header = header_of(message_);
    write_address(from.To, header.addr);
    header.timeout_ms = std::min<ULONG>(from.ResponseTimeout, INT_MAX);
    header.length = static_cast<std::uint32_t>(length);
    if (!segmented) return;
    header.retries = segment_retries;
    if (header.timeout_ms != 0) header.timeout_ms = std::max(header.timeout_ms, min_timeout);
    datagram_of(message_)[rmpp_version_at] = rmpp_version;
    datagram_of(message_)[rmpp_type_at] = rmpp_data;
    datagram_of(message_)[rmpp_flags_at] |= rmpp_active;
}

IB_MAD_ADDRESS sender_of(const ib_mad_addr_t& address) {
    IB_MAD_ADDRESS from{};
    from.Lid = be16toh(address.lid);
    from.ServiceLevel = address.sl;
    from.PathBits = address.path_bits;
    from.PKeyIndex = address.pkey_index;
    from.Qp = be32toh(address.qpn);
    // A datagram does not carry its sender's Q_Key; that of QP1 is known.
    from.QKey = from.Qp != 0 ? IB_QP1_QKEY : 0;
    if (address.grh_present == 0) return from;
    from.Flags = IB_MAD_GRH;
    std::array<std::uint64_t, 2> gid{};
    std::memcpy(gid.data(), address.gid, sizeof(address.gid));
    from.Gid = {be64toh(gid[0]), be64toh(gid[1])};
    from.FlowLabel = be32toh(address.flow_label);
    from.GidIndex = address.gid_index;
    from.HopLimit = address.hop_limit;
    from.TrafficClass = address.traffic_class;
    return from;
}

} // namespace irpverbs::hca_rdma
