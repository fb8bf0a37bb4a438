// The DataDetails of the fabric's traps. Source: IBA 14.2.5.1, table of DataDetails.
#include "fabric.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr std::size_t notice_path = 30; // maximum bytes of a directed route

void write_gids(UCHAR* to, const global_route& route) {
    store<8>(to, route.from.gid_prefix);
    store<8>(to + 8, route.from.gid_guid);
    store<8>(to + 16, route.to.gid_prefix);
    store<8>(to + 24, route.to.gid_guid);
}

// The details of traps 257 and 258: sender, receiver and key.
trap_details key_details(const datagram& what, ULONG key) {
    trap_details details{};
    store<2>(&details[2], what.from);
    store<2>(&details[4], what.to);
    store<4>(&details[6], key);
    store<4>(&details[10], ULONG{what.service_level} << 28 | what.from_qp);
    store<4>(&details[14], what.to_qp);
    if (what.global) write_gids(&details[18], what.route);
    return details;
}

trap_details local_details(const port& at) {
    trap_details details{};
    store<2>(&details[2], at.lid);
    return details;
}

} // namespace

void fabric::raise_trap(port& from, USHORT number, const trap_details& details) {
    // Without memory for the event the periodic timer of traps sends it.
    if (traps_.add(from, number, next_number(), details))
        static_cast<void>(scheduler_.post_traps(KeQueryInterruptTime()));
}

void fabric::raise_link_state(node& of) {
    of.routing.state_changed = true;
    trap_details details{};
    store<2>(details.data(), of.ports[0].lid);
    raise_trap(of.ports[0], trap_link_state, details);
}

void fabric::raise_link_error(port& at, USHORT number) {
    port& from = at.owner->end_port(at);
    trap_details details = local_details(from);
    details[4] = at.number;
    raise_trap(from, number, details);
}

void fabric::raise_local_change(port& at, USHORT flags) {
    trap_details details = local_details(at);
    details[5] = flags != 0 ? 1 : 0;
    store<4>(&details[6], at.capabilities);
    store<2>(&details[10], flags);
    raise_trap(at, trap_local_change, details);
}

void fabric::raise_capabilities(port& at) { raise_local_change(at, 0); }

void fabric::raise_description(node& of) {
    constexpr USHORT description_changed = 1;
    for (port& each : of.ports)
        raise_local_change(each, description_changed);
}

void fabric::raise_system_image(node& of) {
    for (port& each : of.ports) {
        trap_details details = local_details(each);
        store<8>(&details[6], of.system_image_guid);
        raise_trap(each, trap_system_image, details);
    }
}

void fabric::raise_bad_mkey(port& at, packet& smp) {
    constexpr UCHAR directed = 0x80;
    constexpr UCHAR truncated = 0x40;
    const mad_header header = header_of(smp.mad);
    trap_details details = local_details(at);
    details[6] = header.method();
    store<2>(&details[8], header.attribute());
    store<4>(&details[10], header.modifier());
    std::copy_n(&smp.mad[24], 8, &details[14]);
    if (header.management_class() == class_directed) {
        const std::size_t hops = std::min<std::size_t>(smp.mad[7], max_hops);
        const std::size_t kept = std::min(hops, notice_path);
        store<2>(&details[4], load16(&smp.mad[32]));
        details[23] = static_cast<UCHAR>(directed | (kept < hops ? truncated : 0) | kept);
        std::copy_n(&smp.mad[192 + hops - kept + 1], kept, &details[24]);
    } else {
        store<2>(&details[4], smp.from);
    }
    raise_trap(at, trap_bad_mkey, details);
}

void fabric::raise_bad_pkey(port& at, const datagram& what) {
    raise_trap(at, trap_bad_pkey, key_details(what, what.pkey));
}

void fabric::raise_bad_qkey(port& at, const datagram& what) {
    raise_trap(at, trap_bad_qkey, key_details(what, what.qkey));
}

void fabric::raise_switch_bad_pkey(port& at, const datagram& what) {
    trap_details details{};
    store<2>(&details[2], what.from);
    store<2>(&details[4], what.to);
    store<2>(&details[6], what.pkey);
    store<4>(&details[8], ULONG{what.service_level} << 28 | what.from_qp);
    store<4>(&details[12], what.to_qp);
    if (what.global) write_gids(&details[16], what.route);
    port& from = at.owner->ports[0];
    store<2>(&details[48], from.lid);
    details[50] = at.number;
    raise_trap(from, trap_switch_bad_pkey, details);
}

} // namespace irpverbs::hca_software
