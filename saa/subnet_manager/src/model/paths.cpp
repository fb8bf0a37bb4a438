#include "paths.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

std::uint8_t slower(std::uint8_t a, std::uint8_t b) {
    return tenths_of_gigabits(a) <= tenths_of_gigabits(b) ? a : b;
}

void cross(const topology& subnet, port_ref out, route& way) {
    const subnet_port& near = subnet.at(out);
    const subnet_port& far = subnet.at(near.peer);
    way.mtu = std::min({way.mtu, near.info.MTUCap, far.info.MTUCap});
    if (const std::uint8_t rate = rate_of(near.info)) way.rate = slower(way.rate, rate);
    ++way.links;
}

constexpr auto as_it_is = [](std::uint8_t code) { return std::uint32_t{code}; };

// Fits `value` to a selector and the value asked for; false when it can't. `below` tells the next
// smaller code, `size_of` orders codes.
template <class Below, class Size>
bool fit(std::uint8_t& value, std::uint8_t selector, std::uint8_t asked, const Below& below,
         const Size& size_of) {
    switch (selector) {
    case SA_PR_MTU_SEL_GREATER:
        return size_of(value) > size_of(asked);
    case SA_PR_MTU_SEL_LESS:
        if (size_of(value) >= size_of(asked)) value = below(asked);
        return value != 0;
    case SA_PR_MTU_SEL_EXACTLY:
        if (size_of(value) < size_of(asked)) return false;
        value = asked;
        return true;
    default:
        return true;
    }
}

bool fit_mtu(std::uint8_t& mtu, const sa_path_record_t& wanted, std::uint64_t components) {
    if (!has(components, SA_PR_COMPMASK_MTUSELECTOR | SA_PR_COMPMASK_MTU)) return true;
    const auto below = [](std::uint8_t code) {
        return static_cast<std::uint8_t>(code ? code - 1 : 0);
    };
    return fit(mtu, wanted.MtuSelector, wanted.Mtu, below, as_it_is);
}

bool fit_rate(std::uint8_t& rate, const sa_path_record_t& wanted, std::uint64_t components) {
    if (!has(components, SA_PR_COMPMASK_RATESELECTOR | SA_PR_COMPMASK_RATE)) return true;
    return fit(rate, wanted.RateSelector, wanted.Rate, rate_below, tenths_of_gigabits);
}

// The time is what the subnet takes, not a choice: "less" and "exactly" can't lower it.
bool fit_life_time(std::uint8_t time, const sa_path_record_t& wanted, std::uint64_t components) {
    if (!has(components, SA_PR_COMPMASK_PKTLTSELECTOR | SA_PR_COMPMASK_PKTLT)) return true;
    switch (wanted.PacketLifeTimeSelector) {
    case SA_PR_LT_SEL_GREATER:
        return time > wanted.PacketLifeTime;
    case SA_PR_LT_SEL_LESS:
        return time < wanted.PacketLifeTime;
    case SA_PR_LT_SEL_EXACTLY:
        return time == wanted.PacketLifeTime;
    default:
        return true;
    }
}

std::optional<ib_pkey_t> choose_key(const subnet_view& view, port_ref from, port_ref to,
                                    const sa_path_record_t& wanted, std::uint64_t components) {
    const auto keys = [&](port_ref end) {
        return view.partitions.keys_of(view.subnet.at(end).guid,
                                       view.subnet[end.node].info.NodeType,
                                       view.settings.manager_guid);
    };
    const std::vector<ib_pkey_t> ours = keys(from);
    const std::vector<ib_pkey_t> theirs = keys(to);
    if (!has(components, SA_PR_COMPMASK_PKEY)) return shared_key(ours, theirs);
    if (!share_key(ours, theirs, wanted.P_Key)) return std::nullopt;
    return wanted.P_Key;
}

} // namespace

std::optional<route> trace(const topology& subnet, const lid_table& lids,
                           const routing_tables& tables, port_ref from, ib_lid_t to) {
    const port_ref end = lids.port_of(to);
    if (!end.valid()) return std::nullopt;
    route way;
    if (end == from) {
        way.mtu = std::max<std::uint8_t>(subnet.at(from).info.MTUCap, 1);
        if (const std::uint8_t rate = rate_of(subnet.at(from).info)) way.rate = rate;
        return way;
    }
    port_ref at = from;
    if (!subnet[from.node].is_switch()) {
        if (!subnet.at(from).peer.valid()) return std::nullopt;
        cross(subnet, from, way);
        at = subnet.at(from).peer;
    }
    while (at.node != end.node || !subnet[end.node].is_switch()) {
        if (at == end) return way;
        if (!subnet[at.node].is_switch() || way.links > subnet.nodes().size()) return std::nullopt;
        const port_ref out{at.node, tables.port_for(at.node, to)};
        if (out.port == 0 || !subnet.has(out) || !subnet.at(out).peer.valid()) return std::nullopt;
        cross(subnet, out, way);
        at = subnet.at(out).peer;
    }
    return way;
}

std::vector<sa_path_record_t> paths_between(const subnet_view& view, port_ref from, port_ref to,
                                            const sa_path_record_t& wanted,
                                            std::uint64_t components, std::size_t most) {
    const auto key = choose_key(view, from, to, wanted, components);
    if (!key) return {};
    const partition* in = view.partitions.find(*key);
    const std::uint8_t sl = in != nullptr ? in->sl : std::uint8_t{0};
    if (has(components, SA_PR_COMPMASK_SL) && wanted.SL != sl) return {};
    const std::uint8_t life_time = from == to ? std::uint8_t{0} : view.settings.packet_life_time;
    if (!fit_life_time(life_time, wanted, components)) return {};

    const lid_range sources = view.lids.of(view.subnet.at(from).guid);
    const lid_range destinations = view.lids.of(view.subnet.at(to).guid);
    std::vector<sa_path_record_t> found;
    if (sources.base == 0 || destinations.base == 0) return found;
    for (std::uint32_t i = 0; i < destinations.size() && found.size() < most; ++i) {
        sa_path_record_t path{};
        path.DLID = static_cast<ib_lid_t>(destinations.base + i);
        path.SLID = static_cast<ib_lid_t>(sources.base + i % sources.size());
        if (has(components, SA_PR_COMPMASK_DLID) && wanted.DLID != path.DLID) continue;
        if (has(components, SA_PR_COMPMASK_SLID)) {
            if (wanted.SLID < sources.base || wanted.SLID >= sources.base + sources.size())
                continue;
            path.SLID = wanted.SLID;
        }
        const auto way = trace(view.subnet, view.lids, view.tables, from, path.DLID);
        const auto back = trace(view.subnet, view.lids, view.tables, to, path.SLID);
        if (!way || !back) continue;
        path.Mtu = way->mtu;
        path.Rate = way->rate;
        if (!fit_mtu(path.Mtu, wanted, components) || !fit_rate(path.Rate, wanted, components))
            continue;
        path.DGID = {view.settings.prefix, view.subnet.at(to).guid};
        path.SGID = {view.settings.prefix, view.subnet.at(from).guid};
        path.Reversible = 1;
        path.P_Key = *key;
        path.SL = sl;
        path.MtuSelector = path.RateSelector = path.PacketLifeTimeSelector = SA_PR_MTU_SEL_EXACTLY;
        path.PacketLifeTime = life_time;
        found.push_back(path);
    }
    return found;
}

} // namespace irpverbs::subnet_manager
