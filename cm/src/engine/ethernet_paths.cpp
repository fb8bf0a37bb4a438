#include "ethernet_paths.hpp"

#include <algorithm>
#include <bit>

namespace irpverbs::cm::engine {

namespace {

constexpr UCHAR hop_limit = 64;        // a system's usual one, as rdma_cm's
constexpr UCHAR packet_life_time = 16; // 0.27 s, as rdma_cm's

enum class kind { ipv4, link_local, other };

kind kind_of(const ib_gid_t& gid) {
    if (is_ipv4(gid)) return kind::ipv4;
    return gid.gid_prefix >> 54 == 0xFE80u >> 6 ? kind::link_local : kind::other;
}

int common_bits(const ib_gid_t& one, const ib_gid_t& other) {
    const int in_prefix = std::countl_zero(one.gid_prefix ^ other.gid_prefix);
    return in_prefix < 64 ? in_prefix : 64 + std::countl_zero(one.gid_guid ^ other.gid_guid);
}

} // namespace

bool is_ipv4(const ib_gid_t& gid) { return gid.gid_prefix == 0 && gid.gid_guid >> 32 == 0xFFFF; }

std::optional<ib_gid_t> source_address(std::span<const ib_gid_t> own, const ib_gid_t& to) {
    std::optional<ib_gid_t> best;
    if (to == ib_gid_t{}) return best;
    for (const ib_gid_t& each : own)
        if (kind_of(each) == kind_of(to) &&
            (!best || common_bits(each, to) > common_bits(*best, to)))
            best = each;
    return best;
}

sa_path_record_t ethernet_path(const ib_gid_t& from, const ib_gid_t& to, std::uint8_t mtu) {
    sa_path_record_t path{};
    path.SGID = from;
    path.DGID = to;
    path.HopLimit = hop_limit;
    path.Reversible = 1;
    path.NumbPath = 1;
    path.P_Key = IB_PKEY_DEFAULT_FULL;
    path.Mtu = mtu;
    path.PacketLifeTime = packet_life_time;
    return path;
}

void remove_lids(sa_path_record_t& path) {
    path.SLID = path.DLID = 0;
    path.HopLimit = std::max<UCHAR>(path.HopLimit, 2);
}

} // namespace irpverbs::cm::engine
