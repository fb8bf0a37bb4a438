// Attributes that describe a node.
#include "sma.hpp"

#include <algorithm>

namespace irpverbs::hca_software {

namespace {

constexpr USHORT linear_capacity = 0xC000; // all unicast LIDs
constexpr USHORT multicast_capacity = 0x1000;
constexpr UCHAR inbound_enforcement = 0x80;
constexpr UCHAR outbound_enforcement = 0x40;
constexpr UCHAR state_change_bit = 0x04;

void clear(attribute_bytes data) { std::ranges::fill(data, UCHAR{0}); }

void set_switch(node& here, const UCHAR* data) {
    here.routing.linear_top = load16(data + 6);
    here.routing.default_port = data[8];
    here.routing.default_primary = data[9];
    here.routing.default_not_primary = data[10];
    here.routing.life_time = data[11] >> 3;
    if ((data[11] & state_change_bit) != 0) here.routing.state_changed = false;
    here.routing.multicast_top = load16(data + 18);
}

} // namespace

// The notices of the port, the oldest first, for a manager that polls them.
USHORT notice(const attribute_access& with) {
    trap_list& traps = with.where.traps();
    if (with.set) traps.clear_oldest(with.end_port(), with.data);
    traps.read_oldest(with.end_port(), with.data);
    return status_ok;
}

USHORT node_description(const attribute_access& with) {
    clear(with.data);
    const std::string& text = with.here.description;
    std::copy_n(text.data(), std::min(text.size(), with.data.size()), with.data.data());
    return status_ok;
}

// Source: IBA 14.2.5.3.
USHORT node_info(const attribute_access& with) {
    clear(with.data);
    const node& here = with.here;
    const port& at = with.end_port();
    UCHAR* data = with.data.data();
    data[0] = data[1] = 1; // versions
    data[2] = static_cast<UCHAR>(here.type);
    data[3] = static_cast<UCHAR>(here.ports.size() - 1);
    store<8>(data + 4, here.system_image_guid);
    store<8>(data + 12, here.guid);
    store<8>(data + 20, at.guid);
    store<2>(data + 28, at.pkeys.size());
    store<2>(data + 30, here.device_id);
    data[36] = with.in.number;
    store<3>(data + 37, here.vendor_id);
    return status_ok;
}

// Source: IBA 14.2.5.4.
USHORT switch_info(const attribute_access& with) {
    if (!with.here.switches()) return status_bad_attribute;
    if (with.modifier != 0) return status_bad_field;
    UCHAR* data = with.data.data();
    if (with.set && load16(data + 6) >= linear_capacity) return status_bad_field;
    if (with.set) set_switch(with.here, data);
    const switch_routing& now = with.here.routing;
    clear(with.data);
    store<2>(data, linear_capacity);
    store<2>(data + 4, multicast_capacity);
    store<2>(data + 6, now.linear_top);
    data[8] = now.default_port;
    data[9] = now.default_primary;
    data[10] = now.default_not_primary;
    data[11] = static_cast<UCHAR>(now.life_time << 3 | (now.state_changed ? state_change_bit : 0));
    store<2>(data + 14, with.here.ports[1].pkeys.size());
    data[16] = inbound_enforcement | outbound_enforcement;
    store<2>(data + 18, now.multicast_top);
    return status_ok;
}

// Without a subnet manager, reports an inactive one. Source: IBA 14.2.5.13.
USHORT sm_info(const attribute_access& with) {
    clear(with.data);
    store<8>(with.data.data(), with.end_port().guid);
    return status_ok;
}

USHORT vendor_diagnostics(const attribute_access& with) {
    clear(with.data);
    return with.modifier == 0 ? status_ok : status_bad_field;
}

USHORT led_info(const attribute_access& with) {
    constexpr UCHAR on = 0x80;
    port& at = with.end_port();
    if (with.set) at.led = (with.data[0] & on) != 0;
    clear(with.data);
    with.data[0] = at.led ? on : 0;
    return status_ok;
}

// Entry 0 is the port's own GUID and can't be set. Source: IBA 14.2.5.5.
USHORT guid_info(const attribute_access& with) {
    constexpr std::size_t guids_per_block = 8;
    port& at = with.end_port();
    const std::size_t first = with.modifier * guids_per_block;
    if (first >= port::max_gids) return status_bad_field;
    if (with.set) {
        at.gids.resize(std::max(at.gids.size(), first + guids_per_block), {at.prefix, 0});
        for (std::size_t i = first == 0 ? 1 : 0; i < guids_per_block; ++i)
            at.gids[first + i].gid_guid = load<8>(&with.data[i * 8]);
        while (at.gids.size() > 1 && at.gids.back().gid_guid == 0)
            at.gids.pop_back();
        with.where.raise(at, IB_AE_GID_CHANGE);
    }
    clear(with.data);
    for (std::size_t i = 0; i < guids_per_block && first + i < at.gids.size(); ++i)
        store<8>(&with.data[i * 8], at.gids[first + i].gid_guid);
    return status_ok;
}

} // namespace irpverbs::hca_software
