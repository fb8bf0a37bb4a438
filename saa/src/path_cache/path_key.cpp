#include "path_key.hpp"

namespace irpverbs::saa {
namespace {

constexpr std::uint64_t needed = SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;
constexpr std::uint64_t mtu_bits = SA_PR_COMPMASK_MTUSELECTOR | SA_PR_COMPMASK_MTU;
constexpr std::uint64_t rate_bits = SA_PR_COMPMASK_RATESELECTOR | SA_PR_COMPMASK_RATE;
constexpr std::uint64_t life_bits = SA_PR_COMPMASK_PKTLTSELECTOR | SA_PR_COMPMASK_PKTLT;
constexpr std::uint64_t allowed =
    needed | mtu_bits | rate_bits | life_bits | SA_PR_COMPMASK_SERVICEID | SA_PR_COMPMASK_PKEY |
    SA_PR_COMPMASK_QOSCLASS | SA_PR_COMPMASK_SL | SA_PR_COMPMASK_TCLASS |
    SA_PR_COMPMASK_REVERSIBLE | SA_PR_COMPMASK_NUMBPATH;

std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return z ^ (z >> 32);
}

std::uint8_t with_selector(unsigned selector, unsigned value) {
    return static_cast<std::uint8_t>(selector << 6 | (value & 0x3f));
}

} // namespace

std::optional<path_key> path_key::of(const sa_path_record_t& wanted, std::uint64_t components) {
    if ((components & needed) != needed || (components & ~allowed) != 0) return std::nullopt;
    const auto has = [&](std::uint64_t bits) { return (components & bits) != 0; };
    path_key key;
    key.components = static_cast<std::uint32_t>(components);
    key.sgid[0] = wanted.SGID.gid_prefix;
    key.sgid[1] = wanted.SGID.gid_guid;
    key.dgid[0] = wanted.DGID.gid_prefix;
    key.dgid[1] = wanted.DGID.gid_guid;
    if (has(SA_PR_COMPMASK_SERVICEID)) key.service_id = wanted.ServiceID;
    if (has(SA_PR_COMPMASK_PKEY)) key.pkey = wanted.P_Key;
    if (has(SA_PR_COMPMASK_QOSCLASS)) key.qos_class = wanted.QoSClass;
    if (has(SA_PR_COMPMASK_SL)) key.sl = wanted.SL;
    if (has(SA_PR_COMPMASK_TCLASS)) key.tclass = wanted.TClass;
    if (has(mtu_bits)) key.mtu = with_selector(wanted.MtuSelector, wanted.Mtu);
    if (has(rate_bits)) key.rate = with_selector(wanted.RateSelector, wanted.Rate);
    if (has(life_bits))
        key.life_time = with_selector(wanted.PacketLifeTimeSelector, wanted.PacketLifeTime);
    if (has(SA_PR_COMPMASK_REVERSIBLE)) key.reversible = wanted.Reversible;
    if (has(SA_PR_COMPMASK_NUMBPATH)) key.numb_path = wanted.NumbPath;
    return key;
}

std::uint64_t hash_of(const std::uint64_t (&gid)[2]) { return mixed(mixed(gid[0]) ^ gid[1]); }

std::uint64_t path_key::hash() const {
    std::uint64_t h = mixed(hash_of(sgid) ^ dgid[1]);
    h = mixed(h ^ dgid[0] ^ service_id << 1);
    const std::uint64_t first =
        std::uint64_t{components} << 32 | std::uint64_t{pkey} << 16 | qos_class;
    const std::uint64_t second = std::uint64_t{sl} << 48 | std::uint64_t{tclass} << 40 |
                                 std::uint64_t{mtu} << 32 | std::uint64_t{rate} << 24 |
                                 std::uint64_t{life_time} << 16 | std::uint64_t{reversible} << 8 |
                                 numb_path;
    return mixed(mixed(h ^ first) ^ second);
}

} // namespace irpverbs::saa
