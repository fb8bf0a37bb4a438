#include "remote_managers.hpp"

namespace irpverbs::subnet_manager {

namespace {

struct query_state {
    explicit query_state(std::function<void(const sm_discovery&)> its_done)
        : done(std::move(its_done)) {}

    std::function<void(const sm_discovery&)> done;
    sm_discovery result;
    std::size_t missing = 1;

    void end_one() {
        if (--missing == 0) done(result);
    }
};

void note(query_state& all, const directed_route& route, const smp_response& response) {
    const auto info = unpack<sm_sminfo_t>(response.data);
    if (response.success() && info)
        all.result.remote_managers.push_back({route, *info});
    else
        all.result.complete = false;
    all.end_one();
}

} // namespace

bool outranks(const sm_sminfo_t& one, const sm_sminfo_t& other) {
    if (one.Priority != other.Priority) return one.Priority > other.Priority;
    return one.GUID < other.GUID;
}

void query_remote_managers(smp_channel& smps, const subnet& of, const sm_sminfo_t& own,
                           std::function<void(const sm_discovery&)> done) {
    const auto all = std::make_shared<query_state>(std::move(done));
    for (const port_ref end : of.nodes.end_ports()) {
        const bool shown = (of.nodes.at(end).info.CapabilityMask & IB_PORT_CAP_IS_SM) != 0;
        if (!shown || end == of.manager) continue;
        ++all->missing;
        smp request = get_smp(of.route_to(end), sm_info);
        pack(own, request.data);
        const directed_route route = request.route;
        smps.send(std::move(request),
                  [all, route](const smp_response& response) { note(*all, route, response); });
    }
    all->end_one();
}

} // namespace irpverbs::subnet_manager
