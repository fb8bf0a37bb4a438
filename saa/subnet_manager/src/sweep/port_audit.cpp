#include "port_audit.hpp"

#include "configuration.hpp"

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

// A round takes that number of light sweeps, or more where that would exceed `most_ports_a_sweep`.
constexpr std::size_t sweeps_per_round_of_ports = 6;
constexpr std::size_t most_ports_a_sweep = 128;

} // namespace

// A port that another manager's LID was written into is lost for its clients, so it is read as
// often as a route.
void port_audit::read_next(smp_batch& batch, const subnet& net,
                           const std::function<void()>& differs) {
    const std::vector<port_ref> ends = net.nodes.end_ports();
    const auto guid_of = [&](port_ref end) { return net.nodes.at(end).guid; };
    auto at = std::ranges::lower_bound(ends, next_, {}, guid_of);
    const std::size_t share =
        (ends.size() + sweeps_per_round_of_ports - 1) / sweeps_per_round_of_ports;
    for (std::size_t left = std::min(share, most_ports_a_sweep); left != 0; --left, ++at) {
        if (at == ends.end()) at = ends.begin();
        batch.send(get_smp(net.route_to(*at), sm_port_info, at->port),
                   [&net, end = *at, differs](const smp_response& response) {
                       const auto now = unpack<sm_portinfo_t>(response.data);
                       if (response.success() && now &&
                           !same_settings(*now, net.nodes.at(end).info))
                           differs();
                   });
    }
    next_ = at != ends.end() ? guid_of(*at) : 0;
}

} // namespace irpverbs::subnet_manager
