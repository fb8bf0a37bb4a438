#include "address.hpp"

#include "memory.hpp"
#include "open_device.hpp"
#include "own_objects.hpp"
#include "verb_call.hpp"

#include <algorithm>
#include <endian.h>
#include <memory>
#include <new>

namespace irpverbs::verbs {

ib_av_attr_t from_libibverbs(const ibv_ah_attr& from) {
    ib_av_attr_t made{};
    made.port_num = from.port_num;
    made.dlid = from.dlid;
    made.path_bits = from.src_path_bits;
    made.sl = from.sl;
    made.static_rate = from.static_rate;
    made.grh_valid = from.is_global != 0;
    if (made.grh_valid == FALSE) return made;
    made.grh = {from_libibverbs(from.grh.dgid), from.grh.flow_label, from.grh.sgid_index,
                from.grh.hop_limit, from.grh.traffic_class};
    return made;
}

ibv_ah_attr as_libibverbs(const ib_av_attr_t& from) noexcept {
    ibv_ah_attr made{};
    made.port_num = from.port_num;
    made.dlid = from.dlid;
    made.src_path_bits = from.path_bits;
    made.sl = from.sl;
    made.static_rate = from.static_rate;
    made.is_global = from.grh_valid != FALSE;
    if (from.grh_valid == FALSE) return made;
    made.grh = {as_libibverbs(from.grh.dest_gid), from.grh.flow_label,
                static_cast<std::uint8_t>(from.grh.sgid_index), from.grh.hop_limit,
                from.grh.traffic_class};
    return made;
}

namespace {

// The 40 bytes in front of a received datagram as a route: over IPv4 (RoCE) they end with its
// header, whose addresses are mapped into GIDs. Source: IBA A17.4.5.
ibv_grh route_in(const ibv_grh& received) {
    constexpr std::size_t ipv4_at = sizeof(ibv_grh) - 20;
    const auto* const header = reinterpret_cast<const std::uint8_t*>(&received) + ipv4_at;
    if (received.version_tclass_flow != 0 || header[0] >> 4 != 4) return received;
    const auto mapped = [&](std::size_t at) {
        ibv_gid made{};
        made.raw[10] = made.raw[11] = 0xFF;
        std::copy_n(header + at, 4, made.raw + 12);
        return made;
    };
    ibv_grh made{};
    made.version_tclass_flow = htobe32(std::uint32_t{6} << 28 | std::uint32_t{header[1]} << 20);
    made.hop_limit = header[8];
    made.sgid = mapped(12);
    made.dgid = mapped(16);
    return made;
}

// The way back to the sender of a datagram. Source: ibv_create_ah_from_wc(3).
ibv_ah_attr way_to_sender(std::uint8_t port, const ibv_wc& wc, const ibv_grh& grh,
                          std::uint8_t sgid_index) {
    ibv_ah_attr made{};
    made.dlid = wc.slid;
    made.sl = wc.sl;
    made.src_path_bits = wc.dlid_path_bits;
    made.port_num = port;
    if ((wc.wc_flags & IBV_WC_GRH) == 0) return made;
    const std::uint32_t first = be32toh(grh.version_tclass_flow);
    made.is_global = 1;
    made.grh.dgid = grh.sgid;
    made.grh.sgid_index = sgid_index;
    made.grh.flow_label = first & 0xFFFFF;
    made.grh.traffic_class = static_cast<std::uint8_t>(first >> 20);
    made.grh.hop_limit = 0xFF;
    return made;
}

// Returns the index of the GID to which a datagram was sent, or -1. One that was sent to a group
// has the first GID.
int own_index(ibv_context* of, std::uint8_t port, const ibv_gid& sent_to) {
    if (sent_to.raw[0] == 0xFF) return 0;
    ibv_gid own;
    for (int i = 0; irpverbs_ibv_query_gid(of, port, i, &own) == 0; ++i)
        if (own.global.subnet_prefix == sent_to.global.subnet_prefix &&
            own.global.interface_id == sent_to.global.interface_id)
            return i;
    return -1;
}

} // namespace

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

ibv_ah* irpverbs_ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
    std::unique_ptr<address_handle> made(new (std::nothrow) address_handle{});
    if (made == nullptr) return nullptr;
    const ib_av_attr_t way = from_libibverbs(*attr);
    made->av = own_object<IB_AV>(
        open_device::of(pd->context).ca(),
        call(CiCreateAv, protection_domain::of(pd).own(), &way, static_cast<CI_UDATA*>(nullptr)));
    if (made->av == nullptr) return nullptr;
    made->context = pd->context;
    made->pd = pd;
    return made.release();
}

int irpverbs_ibv_destroy_ah(ibv_ah* shown) {
    auto& destroyed = address_handle::of(shown);
    const outcome done = destroy_own(CiDestroyAv, destroyed.av);
    if (done) delete &destroyed;
    return done.error();
}

int irpverbs_ibv_init_ah_from_wc(ibv_context* of, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                 ibv_ah_attr* attr) {
    const bool is_global = (wc->wc_flags & IBV_WC_GRH) != 0;
    const ibv_grh route = is_global ? route_in(*grh) : ibv_grh{};
    const int index = is_global ? own_index(of, port, route.dgid) : 0;
    if (index < 0) return -1;
    *attr = way_to_sender(port, *wc, route, static_cast<std::uint8_t>(index));
    return 0;
}

ibv_ah* irpverbs_ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
    ibv_ah_attr attr;
    if (irpverbs_ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
    return irpverbs_ibv_create_ah(pd, &attr);
}

} // extern "C"
