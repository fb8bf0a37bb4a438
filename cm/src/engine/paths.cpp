#include "paths.hpp"

#include "times.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::cm::engine {

ib_av_attr_t address_vector(const sa_path_record_t& path, const path_location& location) {
    ib_av_attr_t made{};
    made.dlid = path.DLID;
    made.port_num = location.port;
    made.sl = path.SL;
    made.path_bits = location.path_bits;
    made.static_rate = path.Rate;
    made.grh_valid = path.HopLimit > 1;
    if (made.grh_valid)
        made.grh = {path.DGID, path.FlowLabel, location.gid_index, path.HopLimit, path.TClass};
    return made;
}

// A path over Ethernet has no LIDs. As rdma_cm's, its messages have the permissive one.
path_fields fields_of(const sa_path_record_t& path, std::uint8_t local_ack_timeout) {
    const bool has_lids = path.DLID != 0;
    return {.local_lid = has_lids ? path.SLID : ib_lid_t{IB_LID_PERMISSIVE},
            .remote_lid = has_lids ? path.DLID : ib_lid_t{IB_LID_PERMISSIVE},
            .local_gid = path.SGID,
            .remote_gid = path.DGID,
            .flow_label = path.FlowLabel,
            .packet_rate = path.Rate,
            .traffic_class = path.TClass,
            .hop_limit = path.HopLimit,
            .service_level = path.SL,
            .subnet_local = path.HopLimit <= 1,
            .local_ack_timeout = local_ack_timeout};
}

sa_path_record_t path_of(const path_fields& peers) {
    sa_path_record_t path{};
    path.DGID = peers.local_gid;
    path.SGID = peers.remote_gid;
    path.DLID = peers.local_lid;
    path.SLID = peers.remote_lid;
    path.FlowLabel = peers.flow_label;
    path.HopLimit = peers.subnet_local ? 0 : std::max<std::uint8_t>(peers.hop_limit, 2);
    path.TClass = peers.traffic_class;
    path.Reversible = 1;
    path.NumbPath = 1;
    path.SL = peers.service_level;
    path.Rate = peers.packet_rate;
    path.PacketLifeTime = life_time_of(peers.local_ack_timeout);
    return path;
}

void store(const ib_cm_ip_t& ip, std::span<std::uint8_t, ip_header_size> to) {
    to[0] = 0; // version of the header
    to[1] = static_cast<std::uint8_t>(ip.ip_version << 4);
    boost::endian::store_big_u16(&to[2], ip.src_port);
    std::ranges::copy(ip.src, to.begin() + 4);
    std::ranges::copy(ip.dst, to.begin() + 20);
}

std::optional<ib_cm_ip_t> load_ip(ib_svc_id_t service_id,
                                  std::span<const std::uint8_t, ip_header_size> from) {
    constexpr ib_svc_id_t of_ports = 0x1000000; // the service ids of annex A11
    ib_cm_ip_t ip{};
    ip.ip_version = from[1] >> 4;
    if ((service_id & ~ib_svc_id_t{0xFFFFFF}) != of_ports || from[0] != 0 ||
        (ip.ip_version != 4 && ip.ip_version != 6))
        return std::nullopt;
    ip.src_port = boost::endian::load_big_u16(&from[2]);
    std::ranges::copy(from.subspan<4, 16>(), ip.src);
    std::ranges::copy(from.subspan<20, 16>(), ip.dst);
    return ip;
}

} // namespace irpverbs::cm::engine
