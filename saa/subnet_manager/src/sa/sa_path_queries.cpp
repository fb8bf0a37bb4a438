// PathRecords for PathRecord and MultiPathRecord queries.
#include "sa_query.hpp"

namespace irpverbs::subnet_manager {

namespace {

constexpr std::size_t most_gids = 11; // that fit into one datagram
constexpr std::size_t most_paths = 127;

port_ref port_of_gid(const subnet& net, const ib_gid_t& gid) {
    constexpr ib_sn_prefix_t link_local = 0xfe80000000000000;
    if (gid.gid_prefix != net.settings.prefix && gid.gid_prefix != link_local) return {};
    return net.port_of(gid.gid_guid);
}

// The ports that one end of the question may be. A GID of nobody is no end of any path; OpenSM
// sees no more in it, either.
std::vector<port_ref> choose(const sa_query& query, const ib_gid_t* gid, const ib_lid_t* lid) {
    const subnet& net = query.net;
    if (gid == nullptr && lid == nullptr) return visible_end_ports(query);
    const port_ref by_gid = gid != nullptr ? port_of_gid(net, *gid) : port_ref{};
    const port_ref by_lid = lid != nullptr ? net.lids.port_of(*lid) : by_gid;
    if (!by_lid.valid() || (gid != nullptr && by_gid != by_lid)) return {};
    if (!query.by.sees(by_lid)) return {};
    return {by_lid};
}

std::size_t paths_wanted(const sa_query& query, const sa_path_record_t& wanted) {
    if (!query.table) return 1;
    if (!has(query.components, SA_PR_COMPMASK_NUMBPATH)) return most_paths;
    return wanted.NumbPath;
}

void add_paths(const sa_query& query, port_ref from, port_ref to, const sa_path_record_t& wanted,
               std::uint64_t components, std::size_t most, record_list& found) {
    for (const sa_path_record_t& path :
         paths_between(query.net.view(), from, to, wanted, components, most))
        found.add(path);
}

} // namespace

std::uint16_t find_paths(const sa_query& query, record_list& found) {
    const auto wanted = unpack<sa_path_record_t>(query.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    const auto given = [&](std::uint64_t component, const auto& value) {
        return has(query.components, component) ? &value : nullptr;
    };
    const std::vector<port_ref> from = choose(query, given(SA_PR_COMPMASK_SGID, wanted->SGID),
                                              given(SA_PR_COMPMASK_SLID, wanted->SLID));
    const std::vector<port_ref> to = choose(query, given(SA_PR_COMPMASK_DGID, wanted->DGID),
                                            given(SA_PR_COMPMASK_DLID, wanted->DLID));
    const std::size_t most = paths_wanted(query, *wanted);
    for (const port_ref source : from)
        for (const port_ref destination : to) {
            add_paths(query, source, destination, *wanted, query.components, most, found);
            if (!query.table && found.count() != 0) return SA_STATUS_NO_ERROR;
            if (found.full()) return SA_STATUS_ERR_NO_RESOURCES;
        }
    return SA_STATUS_NO_ERROR;
}

namespace {

// What a MultiPathRecord asks of each of its paths, as a PathRecord would.
struct path_question {
    sa_path_record_t wanted{};
    std::uint64_t components = 0;
};

path_question question_of(const sa_multipath_record_t& multi, std::uint64_t components) {
    path_question asked;
    const auto take = [&](std::uint64_t component, std::uint64_t as) {
        if ((components & component) != 0) asked.components |= as;
    };
    asked.wanted.P_Key = multi.P_Key;
    asked.wanted.SL = multi.SL;
    asked.wanted.MtuSelector = multi.MtuSelector;
    asked.wanted.Mtu = multi.Mtu;
    asked.wanted.RateSelector = multi.RateSelector;
    asked.wanted.Rate = multi.Rate;
    asked.wanted.PacketLifeTimeSelector = multi.PacketLifeTimeSelector;
    asked.wanted.PacketLifeTime = multi.PacketLifeTime;
    take(SA_MPR_COMPMASK_PKEY, SA_PR_COMPMASK_PKEY);
    take(SA_MPR_COMPMASK_SL, SA_PR_COMPMASK_SL);
    take(SA_MPR_COMPMASK_MTUSELECTOR, SA_PR_COMPMASK_MTUSELECTOR);
    take(SA_MPR_COMPMASK_MTU, SA_PR_COMPMASK_MTU);
    take(SA_MPR_COMPMASK_RATESELECTOR, SA_PR_COMPMASK_RATESELECTOR);
    take(SA_MPR_COMPMASK_RATE, SA_PR_COMPMASK_RATE);
    take(SA_MPR_COMPMASK_PKTLTSELECTOR, SA_PR_COMPMASK_PKTLTSELECTOR);
    take(SA_MPR_COMPMASK_PKTLT, SA_PR_COMPMASK_PKTLT);
    return asked;
}

} // namespace

std::uint16_t find_multiple_paths(const sa_query& query, record_list& found) {
    if (!has(query.components, SA_MPR_COMPMASK_SGIDCOUNT | SA_MPR_COMPMASK_DGIDCOUNT))
        return SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS;
    sa_multipath_record_t multi{};
    std::array<ib_gid_t, most_gids> gids{};
    const auto count = unpack_multipath(query.data, multi, gids);
    if (!count || *count > gids.size() || multi.SGIDCount == 0 || multi.DGIDCount == 0)
        return SA_STATUS_ERR_REQ_INVALID;
    std::vector<port_ref> ports;
    for (std::size_t i = 0; i < *count; ++i) {
        ports.push_back(port_of_gid(query.net, gids[i]));
        if (!ports.back().valid()) return SA_STATUS_ERR_REQ_INVALID_GID;
    }
    const bool bounded = has(query.components, SA_MPR_COMPMASK_NUMBPATH);
    const std::size_t most = bounded ? multi.NumbPath : most_paths;
    const path_question asked = question_of(multi, query.components);
    const std::span all(ports);
    for (const port_ref from : all.first(multi.SGIDCount))
        for (const port_ref to : all.subspan(multi.SGIDCount))
            if (query.by.sees(from) && query.by.sees(to))
                add_paths(query, from, to, asked.wanted, asked.components, most, found);
    return SA_STATUS_NO_ERROR;
}

} // namespace irpverbs::subnet_manager
