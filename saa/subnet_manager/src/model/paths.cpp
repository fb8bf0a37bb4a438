#include "paths.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {
namespace {

std::uint8_t slower(std::uint8_t a, std::uint8_t b) {
    return tenths_of_gigabits(a) <= tenths_of_gigabits(b) ? a : b;
}

void cross(const topology& subnet, port_ref out, traced_path& path) {
    const subnet_port& near = subnet.at(out);
    const subnet_port& far = subnet.at(near.peer);
    path.mtu = std::min({path.mtu, near.info.MTUCap, far.info.MTUCap});
    if (const std::uint8_t rate = rate_of(near.info)) path.rate = slower(path.rate, rate);
    ++path.links;
}

constexpr auto as_it_is = [](std::uint8_t code) { return std::uint32_t{code}; };

// Adapts `value` to a selector and the requested value; returns false when it cannot. `below`
// returns the next smaller code, `size_of` orders codes.
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

// The packet lifetime is a property of the subnet: "less" and "exactly" cannot lower it.
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

bool is_raw(const sa_path_record_t& wanted, std::uint64_t components) {
    return has(components, SA_PR_COMPMASK_RAWTRAFFIC) && wanted.RawTraffic != 0;
}

// Raw packets carry no P_Key, but the ports must share one.
std::optional<ib_pkey_t> choose_key(const subnet_view& view, port_ref from, port_ref to,
                                    const sa_path_record_t& wanted, std::uint64_t components) {
    const auto keys = [&](port_ref end) {
        return view.partitions.keys_of(view.subnet.at(end).guid,
                                       view.subnet[end.node].info.NodeType,
                                       view.settings.manager_guid);
    };
    const std::vector<ib_pkey_t> ours = keys(from);
    const std::vector<ib_pkey_t> theirs = keys(to);
    if (is_raw(wanted, components) || !has(components, SA_PR_COMPMASK_PKEY))
        return shared_key(ours, theirs);
    if (!share_key(ours, theirs, wanted.P_Key)) return std::nullopt;
    return wanted.P_Key;
}

// Returns the LIDs of a port that match the query: all, or the requested one.
std::vector<ib_lid_t> lids_wanted(lid_range range, bool named, ib_lid_t lid) {
    std::vector<ib_lid_t> all;
    for (std::uint32_t i = 0; range.base != 0 && i < range.size(); ++i)
        all.push_back(static_cast<ib_lid_t>(range.base + i));
    if (named) std::erase_if(all, [&](ib_lid_t each) { return each != lid; });
    return all;
}

// Returns the fields that all paths between two ports have in common.
sa_path_record_t common_part(const subnet_view& view, port_ref from, port_ref to) {
    sa_path_record_t path{};
    path.DGID = {view.settings.prefix, view.subnet.at(to).guid};
    path.SGID = {view.settings.prefix, view.subnet.at(from).guid};
    path.Reversible = 1;
    path.MtuSelector = path.RateSelector = path.PacketLifeTimeSelector = SA_PR_MTU_SEL_EXACTLY;
    path.PacketLifeTime = from == to ? std::uint8_t{0} : view.settings.packet_life_time;
    return path;
}

// Returns one path for each LID of the destination that the tables reach and that matches the
// query.
std::vector<sa_path_record_t> paths_to_lids(const subnet_view& view, port_ref from,
                                            const std::vector<ib_lid_t>& destinations,
                                            const sa_path_record_t& common,
                                            const sa_path_record_t& wanted,
                                            std::uint64_t components) {
    std::vector<sa_path_record_t> paths;
    for (const ib_lid_t lid : destinations) {
        sa_path_record_t path = common;
        path.DLID = 0; // no path yet
        if (const auto traced = trace(view.subnet, view.lids, view.tables, from, lid)) {
            path.Mtu = traced->mtu;
            path.Rate = traced->rate;
            if (fit_mtu(path.Mtu, wanted, components) && fit_rate(path.Rate, wanted, components))
                path.DLID = lid;
        }
        paths.push_back(path);
    }
    return paths;
}

// Calls `visit(source, destination, preference)` for all pairs of offsets, first for equal ones,
// until it returns false.
template <class Visit>
void for_each_pair(std::size_t sources, std::size_t destinations, const Visit& visit) {
    for (std::size_t i = 0; i < std::min(sources, destinations); ++i)
        if (!visit(i, i, std::uint8_t{0})) return;
    for (std::size_t from = 0; from < sources; ++from)
        for (std::size_t to = 0; to < destinations; ++to)
            if (from != to && !visit(from, to, std::uint8_t{2})) return;
}

} // namespace

std::optional<traced_path> trace(const topology& subnet, const lid_table& lids,
                                 const routing_tables& tables, port_ref from, ib_lid_t to) {
    const port_ref end = lids.port_of(to);
    if (!end.valid()) return std::nullopt;
    traced_path path;
    if (end == from) {
        path.mtu = std::max<std::uint8_t>(subnet.at(from).info.MTUCap, 1);
        if (const std::uint8_t rate = rate_of(subnet.at(from).info)) path.rate = rate;
        return path;
    }
    port_ref at = from;
    if (!subnet[from.node].is_switch()) {
        if (!subnet.at(from).peer.valid()) return std::nullopt;
        cross(subnet, from, path);
        at = subnet.at(from).peer;
    }
    while (at.node != end.node || !subnet[end.node].is_switch()) {
        if (at == end) return path;
        if (!subnet[at.node].is_switch() || path.links > subnet.nodes().size()) return std::nullopt;
        const port_ref out{at.node, tables.port_for(at.node, to)};
        if (out.port == 0 || !subnet.has(out) || !subnet.at(out).peer.valid()) return std::nullopt;
        cross(subnet, out, path);
        at = subnet.at(out).peer;
    }
    return path;
}

std::uint16_t check_path_query(const sa_path_record_t& wanted, std::uint64_t components) {
    const std::uint64_t halves = components & SA_PR_COMPMASK_SERVICEID;
    if (halves != 0 && halves != SA_PR_COMPMASK_SERVICEID)
        return SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS;
    const bool mtu = has(components, SA_PR_COMPMASK_MTUSELECTOR | SA_PR_COMPMASK_MTU);
    const bool rate = has(components, SA_PR_COMPMASK_RATESELECTOR | SA_PR_COMPMASK_RATE);
    const bool valid = (!mtu || is_mtu(wanted.Mtu)) && (!rate || is_rate(wanted.Rate));
    return valid ? SA_STATUS_NO_ERROR : SA_STATUS_ERR_REQ_INVALID;
}

std::vector<sa_path_record_t> paths_between(const subnet_view& view, port_ref from, port_ref to,
                                            const sa_path_record_t& wanted,
                                            std::uint64_t components, std::size_t most) {
    const auto key = choose_key(view, from, to, wanted, components);
    if (!key) return {};
    sa_path_record_t common = common_part(view, from, to);
    const partition* in = view.partitions.find(*key);
    common.SL = in != nullptr ? in->sl : std::uint8_t{0};
    common.RawTraffic = is_raw(wanted, components) ? 1 : 0;
    common.P_Key = common.RawTraffic != 0 ? ib_pkey_t{0} : *key;
    if (has(components, SA_PR_COMPMASK_SL) && wanted.SL != common.SL) return {};
    if (!fit_life_time(common.PacketLifeTime, wanted, components)) return {};

    const std::vector<ib_lid_t> sources = lids_wanted(
        view.lids.of(view.subnet.at(from).guid), has(components, SA_PR_COMPMASK_SLID), wanted.SLID);
    const std::vector<ib_lid_t> destinations = lids_wanted(
        view.lids.of(view.subnet.at(to).guid), has(components, SA_PR_COMPMASK_DLID), wanted.DLID);
    const std::vector<sa_path_record_t> to_destination =
        paths_to_lids(view, from, destinations, common, wanted, components);
    std::vector<std::uint8_t> leads_back;
    for (const ib_lid_t lid : sources)
        leads_back.push_back(trace(view.subnet, view.lids, view.tables, to, lid).has_value());
    std::vector<sa_path_record_t> found;
    for_each_pair(sources.size(), destinations.size(),
                  [&](std::size_t source, std::size_t destination, std::uint8_t preference) {
                      if (found.size() >= most) return false;
                      if (leads_back[source] == 0 || to_destination[destination].DLID == 0)
                          return true;
                      sa_path_record_t path = to_destination[destination];
                      path.SLID = sources[source];
                      path.Preference = preference;
                      found.push_back(path);
                      return true;
                  });
    return found;
}

} // namespace irpverbs::subnet_manager
