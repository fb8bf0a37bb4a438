// PathRecords for PathRecord and MultiPathRecord queries.
#include "sa_query.hpp"

namespace irpverbs::subnet_manager {

namespace {

constexpr std::size_t max_gids = 11; // the number that fits into one datagram
constexpr std::size_t max_paths = 127;
// The pairs of ports that one request examines: it must not delay all others.
constexpr std::size_t max_pairs = std::size_t{1} << 18;

port_ref port_of_gid(const subnet& net, const ib_gid_t& gid) {
    constexpr ib_sn_prefix_t link_local = 0xfe80000000000000;
    if (gid.gid_prefix != net.settings.prefix && gid.gid_prefix != link_local) return {};
    return net.port_of(gid.gid_guid);
}

// One end of the query: the ports that match it.
struct path_end {
    std::vector<port_ref> ports;
    bool contradicts = false; // its GID and its LID belong to two ports
};

// An unknown GID or LID is the end of no path.
path_end choose(const sa_query& query, const ib_gid_t* gid, const ib_lid_t* lid) {
    const subnet& net = query.net;
    if (gid == nullptr && lid == nullptr) return {visible_end_ports(query)};
    const port_ref by_lid = lid != nullptr ? net.lids.port_of(*lid) : port_of_gid(net, *gid);
    const port_ref by_gid = gid != nullptr ? port_of_gid(net, *gid) : by_lid;
    if (!query.access.may_see(by_gid) || !query.access.may_see(by_lid)) return {};
    if (!by_gid.valid() || !by_lid.valid()) return {};
    return {{by_lid}, by_gid != by_lid};
}

template <class Value>
const Value* given(const sa_query& query, std::uint64_t component, const Value& value) {
    return has(query.components, component) ? &value : nullptr;
}

path_end source_of(const sa_query& query, const sa_path_record_t& wanted) {
    return choose(query, given(query, SA_PR_COMPMASK_SGID, wanted.SGID),
                  given(query, SA_PR_COMPMASK_SLID, wanted.SLID));
}

// Removes the ports that lack the P_Key of the query, so that pairs of them are not examined.
void keep_holders_of_key(const sa_query& query, const sa_path_record_t& wanted,
                         std::vector<port_ref>& ends) {
    const bool raw = has(query.components, SA_PR_COMPMASK_RAWTRAFFIC) && wanted.RawTraffic != 0;
    if (raw || !has(query.components, SA_PR_COMPMASK_PKEY)) return;
    std::erase_if(ends,
                  [&](port_ref end) { return !holds_key(query.net.keys_of(end), wanted.P_Key); });
}

std::size_t paths_wanted(const sa_query& query, const sa_path_record_t& wanted) {
    if (!query.table) return 1;
    if (!has(query.components, SA_PR_COMPMASK_NUMBPATH)) return max_paths;
    return wanted.NumbPath;
}

void add_paths(const sa_query& query, port_ref from, port_ref to, const sa_path_record_t& wanted,
               std::uint64_t components, std::size_t most, record_list& found) {
    for (const sa_path_record_t& path :
         paths_between(query.net.view(), from, to, wanted, components, most))
        found.add(path);
}

// The criteria of a group path for its group.
struct group_query {
    sa_mcmember_record_t wanted{};
    std::uint64_t components = SA_MC_COMPMASK_MGID;
};

group_query group_query_of(const sa_path_record_t& path, std::uint64_t components) {
    group_query criteria;
    const auto copy_component = [&](std::uint64_t component, std::uint64_t as) {
        if (has(components, component)) criteria.components |= as;
    };
    sa_mcmember_record_t& wanted = criteria.wanted;
    wanted.MGID = path.DGID;
    wanted.MLID = path.DLID;
    wanted.P_Key = path.P_Key;
    wanted.SL = path.SL;
    wanted.TClass = path.TClass;
    wanted.FlowLabel = path.FlowLabel;
    wanted.HopLimit = path.HopLimit;
    wanted.MTUSelector = path.MtuSelector;
    wanted.MTU = path.Mtu;
    wanted.RateSelector = path.RateSelector;
    wanted.Rate = path.Rate;
    wanted.PacketLifeTimeSelector = path.PacketLifeTimeSelector;
    wanted.PacketLifeTime = path.PacketLifeTime;
    copy_component(SA_PR_COMPMASK_DLID, SA_MC_COMPMASK_MLID);
    copy_component(SA_PR_COMPMASK_PKEY, SA_MC_COMPMASK_PKEY);
    copy_component(SA_PR_COMPMASK_SL, SA_MC_COMPMASK_SL);
    copy_component(SA_PR_COMPMASK_TCLASS, SA_MC_COMPMASK_TCLASS);
    copy_component(SA_PR_COMPMASK_FLOWLABEL, SA_MC_COMPMASK_FLOWLABEL);
    copy_component(SA_PR_COMPMASK_HOPLIMIT, SA_MC_COMPMASK_HOPLIMIT);
    copy_component(SA_PR_COMPMASK_MTUSELECTOR, SA_MC_COMPMASK_MTUSELECTOR);
    copy_component(SA_PR_COMPMASK_MTU, SA_MC_COMPMASK_MTU);
    copy_component(SA_PR_COMPMASK_RATESELECTOR, SA_MC_COMPMASK_RATESELECTOR);
    copy_component(SA_PR_COMPMASK_RATE, SA_MC_COMPMASK_RATE);
    copy_component(SA_PR_COMPMASK_PKTLTSELECTOR, SA_MC_COMPMASK_PKTLTSELECTOR);
    copy_component(SA_PR_COMPMASK_PKTLT, SA_MC_COMPMASK_PKTLT);
    return criteria;
}

sa_path_record_t path_to(const sa_mcmember_record_t& group) {
    sa_path_record_t path{};
    path.DGID = group.MGID;
    path.DLID = group.MLID;
    path.P_Key = group.P_Key;
    path.SL = group.SL;
    path.TClass = group.TClass;
    path.FlowLabel = group.FlowLabel;
    path.HopLimit = group.HopLimit;
    path.NumbPath = 1;
    path.MtuSelector = path.RateSelector = path.PacketLifeTimeSelector = SA_PR_MTU_SEL_EXACTLY;
    path.Mtu = group.MTU;
    path.Rate = group.Rate;
    path.PacketLifeTime = group.PacketLifeTime;
    return path;
}

// The source of the query must be a member of the group, as in OpenSM.
std::uint16_t find_group_path(const sa_query& query, const sa_path_record_t& wanted,
                              const path_end& from, record_list& found) {
    const bool has_source = (query.components & (SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_SLID)) != 0;
    if (paths_wanted(query, wanted) == 0 || from.ports.empty()) return SA_STATUS_NO_ERROR;
    if (from.contradicts) return SA_STATUS_ERR_REQ_INVALID;
    group_query criteria = group_query_of(wanted, query.components);
    if (has_source) {
        criteria.components |= SA_MC_COMPMASK_PORTGID;
        criteria.wanted.PortGID = query.net.gid_of(from.ports.front());
    }
    for (const auto& group : query.groups.find(criteria.wanted, criteria.components, has_source)) {
        if (!query.access.holds(group.P_Key)) continue;
        sa_path_record_t path = path_to(group);
        path.SGID = group.PortGID;
        path.SLID = has_source ? query.net.lids.of(group.PortGID.gid_guid).base : ib_lid_t{0};
        if (has(query.components, SA_PR_COMPMASK_SLID)) path.SLID = wanted.SLID;
        found.add(path);
    }
    return SA_STATUS_NO_ERROR;
}

} // namespace

std::uint16_t find_paths(const sa_query& query, record_list& found) {
    const auto wanted = unpack<sa_path_record_t>(query.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    if (const std::uint16_t status = check_path_query(*wanted, query.components)) return status;
    path_end from = source_of(query, *wanted);
    if (has(query.components, SA_PR_COMPMASK_DGID) && is_multicast(wanted->DGID))
        return find_group_path(query, *wanted, from, found);
    path_end to = choose(query, given(query, SA_PR_COMPMASK_DGID, wanted->DGID),
                         given(query, SA_PR_COMPMASK_DLID, wanted->DLID));
    if (from.ports.empty() || to.ports.empty()) return SA_STATUS_NO_ERROR;
    if (from.contradicts || to.contradicts) return SA_STATUS_ERR_REQ_INVALID;
    keep_holders_of_key(query, *wanted, from.ports);
    keep_holders_of_key(query, *wanted, to.ports);
    const std::size_t most = paths_wanted(query, *wanted);
    std::size_t examined = 0;
    for (const port_ref source : from.ports)
        for (const port_ref destination : to.ports) {
            if (++examined > max_pairs) return SA_STATUS_ERR_NO_RESOURCES;
            add_paths(query, source, destination, *wanted, query.components, most, found);
            if (!query.table && found.count() != 0) return SA_STATUS_NO_ERROR;
            if (found.full()) return SA_STATUS_ERR_NO_RESOURCES;
        }
    return SA_STATUS_NO_ERROR;
}

namespace {

// The criteria of a MultiPathRecord for each path, in the form of a PathRecord query.
struct path_query {
    sa_path_record_t wanted{};
    std::uint64_t components = 0;
};

path_query path_query_of(const sa_multipath_record_t& multi, std::uint64_t components) {
    path_query criteria;
    const auto copy_component = [&](std::uint64_t component, std::uint64_t as) {
        if ((components & component) != 0) criteria.components |= as;
    };
    criteria.wanted.P_Key = multi.P_Key;
    criteria.wanted.SL = multi.SL;
    criteria.wanted.MtuSelector = multi.MtuSelector;
    criteria.wanted.Mtu = multi.Mtu;
    criteria.wanted.RateSelector = multi.RateSelector;
    criteria.wanted.Rate = multi.Rate;
    criteria.wanted.PacketLifeTimeSelector = multi.PacketLifeTimeSelector;
    criteria.wanted.PacketLifeTime = multi.PacketLifeTime;
    copy_component(SA_MPR_COMPMASK_SERVICEID_HI, SA_PR_COMPMASK_RESERVED);
    copy_component(SA_MPR_COMPMASK_SERVICEID_LO, SA_PR_COMPMASK_RESERVED2);
    copy_component(SA_MPR_COMPMASK_PKEY, SA_PR_COMPMASK_PKEY);
    copy_component(SA_MPR_COMPMASK_SL, SA_PR_COMPMASK_SL);
    copy_component(SA_MPR_COMPMASK_MTUSELECTOR, SA_PR_COMPMASK_MTUSELECTOR);
    copy_component(SA_MPR_COMPMASK_MTU, SA_PR_COMPMASK_MTU);
    copy_component(SA_MPR_COMPMASK_RATESELECTOR, SA_PR_COMPMASK_RATESELECTOR);
    copy_component(SA_MPR_COMPMASK_RATE, SA_PR_COMPMASK_RATE);
    copy_component(SA_MPR_COMPMASK_PKTLTSELECTOR, SA_PR_COMPMASK_PKTLTSELECTOR);
    copy_component(SA_MPR_COMPMASK_PKTLT, SA_PR_COMPMASK_PKTLT);
    return criteria;
}

} // namespace

std::uint16_t find_multiple_paths(const sa_query& query, record_list& found) {
    if (!has(query.components, SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT))
        return SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS;
    sa_multipath_record_t multi{};
    std::array<ib_gid_t, max_gids> gids{};
    const auto count = unpack_multipath(query.data, multi, gids);
    if (!count || *count > gids.size() || multi.SGIDCount == 0 || multi.DGIDCount == 0)
        return SA_STATUS_ERR_REQ_INVALID;
    const path_query criteria = path_query_of(multi, query.components);
    if (const std::uint16_t status = check_path_query(criteria.wanted, criteria.components))
        return status;
    std::vector<port_ref> ports;
    for (std::size_t i = 0; i < *count; ++i) {
        ports.push_back(port_of_gid(query.net, gids[i]));
        if (!ports.back().valid()) return SA_STATUS_ERR_REQ_INVALID_GID;
    }
    const bool bounded = has(query.components, SA_MPR_COMPMASK_NUMBPATH);
    const std::size_t most = bounded ? multi.NumbPath : max_paths;
    const std::span all(ports);
    for (const port_ref from : all.first(multi.SGIDCount))
        for (const port_ref to : all.subspan(multi.SGIDCount))
            if (query.access.may_see(from) && query.access.may_see(to))
                add_paths(query, from, to, criteria.wanted, criteria.components, most, found);
    return SA_STATUS_NO_ERROR;
}

} // namespace irpverbs::subnet_manager
