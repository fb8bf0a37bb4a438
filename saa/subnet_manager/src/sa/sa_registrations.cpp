// Registrations at the SA: services, members of groups, subscribers.
#include "sa_server.hpp"

#include <basics.hpp>
#include <dispatch/timer.h>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

bool names_key(ib_pkey_t key) { return (key & 0x7fff) != 0; }

} // namespace

std::uint16_t sa_server::services(const sa_request& request, record_list& found) {
    const auto wanted = unpack<sa_service_record_t>(request.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each : services_.find(*wanted, request.sa.component_mask,
                                           KeQueryInterruptTime(), request.trusted))
        if (!names_key(each.ServiceP_Key) || request.access.holds(each.ServiceP_Key))
            found.add(each);
    return SA_STATUS_NO_ERROR;
}

// The requester and the service's port must hold the P_Key, if the request has one.
bool sa_server::may_change(const sa_request& request, const sa_service_record_t& service) {
    const std::uint64_t given = request.sa.component_mask;
    if (!has(given, SA_SR_COMPMASK_PKEY)) return true;
    if (!request.access.holds(service.ServiceP_Key)) return false;
    if (!has(given, SA_SR_COMPMASK_GID) || is_multicast(service.ServiceGID)) return true;
    const port_ref port = request.net.port_of(service.ServiceGID.gid_guid);
    return holds_key(request.net.keys_of(port), service.ServiceP_Key);
}

std::uint16_t sa_server::set_service(const sa_request& request, record_list& found) {
    auto record = unpack<sa_service_record_t>(request.what.data);
    if (!record || !may_change(request, *record)) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status =
        services_.set(*record, request.sa.component_mask, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(visible_record(*record, request.trusted));
    return status;
}

std::uint16_t sa_server::delete_service(const sa_request& request, record_list& found) {
    auto record = unpack<sa_service_record_t>(request.what.data);
    if (!record || !may_change(request, *record)) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status = services_.erase(*record, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(visible_record(*record, request.trusted));
    return status;
}

std::uint16_t sa_server::memberships(const sa_request& request, record_list& found) {
    const auto wanted = unpack<sa_mcmember_record_t>(request.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    if (const std::uint16_t status = check_group_values(*wanted, request.sa.component_mask))
        return status;
    for (const auto& each : groups_.find(*wanted, request.sa.component_mask, request.trusted))
        if (request.access.holds(each.P_Key)) found.add(each);
    return SA_STATUS_NO_ERROR;
}

std::uint16_t sa_server::join(const sa_request& request, record_list& found) {
    return change_membership(request, found, true);
}

std::uint16_t sa_server::leave(const sa_request& request, record_list& found) {
    return change_membership(request, found, false);
}

std::uint16_t sa_server::change_membership(const sa_request& request, record_list& found,
                                           bool joins) {
    const auto record = unpack<sa_mcmember_record_t>(request.what.data);
    if (!record) return SA_STATUS_ERR_REQ_INVALID;
    const subnet& net = request.net;
    const port_ref port = net.port_of(record->PortGID.gid_guid);
    const std::vector<ib_pkey_t> port_keys = net.keys_of(port);
    multicast_request wanted{.record = *record,
                             .components = request.sa.component_mask,
                             .requester = net.gid_of(request.access.port()),
                             .requester_keys = request.access.keys(),
                             .port_known = port.valid(),
                             .port_keys = port_keys};
    if (port.valid()) {
        wanted.port_mtu = net.nodes.at(port).info.MTUCap;
        wanted.port_rate = rate_of(net.nodes.at(port).info);
    }
    const multicast_result done = joins ? groups_.join(wanted) : groups_.leave(wanted);
    if (done.status != SA_STATUS_NO_ERROR) return done.status;
    found.add(done.record);
    rerouted_ = {done.record.MLID, done.tree_changed, joins ? port : port_ref{}};
    group_changed(done, net);
    return SA_STATUS_NO_ERROR;
}

// A requester may subscribe to events of ports that it may see; every requester may subscribe to
// those of all ports. Source: IBA 13.4.11.
bool sa_server::may_subscribe(const sa_request& request, const ib_mad_informinfo_t& info) {
    const bool all = info.LIDRangeBegin == MAD_INFORMINFO_ALL_ENDPORTS_RANGE;
    if (info.Subscribe != MAD_INFORMINFO_SUBSCRIBE) return true;
    const lid_table& lids = request.net.lids;
    if (info.GID != ib_gid_t{}) {
        const port_ref port = request.net.port_of(info.GID.gid_guid);
        return port.valid() && request.access.may_see(port);
    }
    if (all) return true;
    if (info.LIDRangeBegin > lids.top()) return false;
    const std::uint32_t last = std::clamp(info.LIDRangeEnd, info.LIDRangeBegin, lids.top());
    for (std::uint32_t lid = info.LIDRangeBegin; lid <= last; ++lid) {
        const port_ref port = lids.port_of(static_cast<ib_lid_t>(lid));
        if (port.valid() && !request.access.may_see(port)) return false;
    }
    return true;
}

std::uint16_t sa_server::set_subscription(const sa_request& request, record_list& found) {
    auto info = unpack<ib_mad_informinfo_t>(request.what.data);
    if (!info || !may_subscribe(request, *info)) return SA_STATUS_ERR_REQ_INVALID;
    const ibmf_addr_info_t& from = request.what.peer.local;
    const subscriber who{request.net.gid_of(request.access.port()), from.ia_remote_lid,
                         from.ia_remote_qno, from.ia_p_key, from.ia_service_level};
    const std::uint16_t status = subscriptions_.set(who, *info, request.trusted);
    if (status == SA_STATUS_NO_ERROR) found.add(*info);
    return status;
}

std::uint16_t sa_server::subscriptions(const sa_request& request, record_list& found) {
    const auto wanted = unpack<sa_informinfo_record_t>(request.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each : subscriptions_.find(*wanted, request.sa.component_mask))
        if (request.access.may_see(request.net.port_of(each.SubscriberGID.gid_guid)))
            found.add(each);
    return SA_STATUS_NO_ERROR;
}

} // namespace irpverbs::subnet_manager
