// Registrations at the SA: services, members of groups, subscribers.
#include "sa_server.hpp"

#include <basics.hpp>
#include <dispatch/timer.h>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

bool names_key(ib_pkey_t key) { return (key & 0x7fff) != 0; }

} // namespace

std::uint16_t sa_server::services(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_service_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each :
         services_.find(*wanted, asked.sa.component_mask, KeQueryInterruptTime(), asked.trusted))
        if (!names_key(each.ServiceP_Key) || asked.by.holds(each.ServiceP_Key)) found.add(each);
    return SA_STATUS_NO_ERROR;
}

// The requester and the service's port must hold the P_Key, if the request has one.
bool sa_server::may_change(const request& asked, const sa_service_record_t& service) {
    const std::uint64_t given = asked.sa.component_mask;
    if (!has(given, SA_SR_COMPMASK_PKEY)) return true;
    if (!asked.by.holds(service.ServiceP_Key)) return false;
    if (!has(given, SA_SR_COMPMASK_GID) || is_multicast(service.ServiceGID)) return true;
    const port_ref port = asked.net.port_of(service.ServiceGID.gid_guid);
    return holds_key(asked.net.keys_of(port), service.ServiceP_Key);
}

std::uint16_t sa_server::set_service(const request& asked, record_list& found) {
    auto record = unpack<sa_service_record_t>(asked.what.data);
    if (!record || !may_change(asked, *record)) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status =
        services_.set(*record, asked.sa.component_mask, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(*record);
    return status;
}

std::uint16_t sa_server::delete_service(const request& asked, record_list& found) {
    auto record = unpack<sa_service_record_t>(asked.what.data);
    if (!record || !may_change(asked, *record)) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status = services_.erase(*record, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(*record);
    return status;
}

std::uint16_t sa_server::memberships(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_mcmember_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    if (const std::uint16_t status = check_group_values(*wanted, asked.sa.component_mask))
        return status;
    for (const auto& each : groups_.find(*wanted, asked.sa.component_mask, asked.trusted))
        if (asked.by.holds(each.P_Key)) found.add(each);
    return SA_STATUS_NO_ERROR;
}

std::uint16_t sa_server::join(const request& asked, record_list& found) {
    return change_membership(asked, found, true);
}

std::uint16_t sa_server::leave(const request& asked, record_list& found) {
    return change_membership(asked, found, false);
}

std::uint16_t sa_server::change_membership(const request& asked, record_list& found, bool joins) {
    const auto record = unpack<sa_mcmember_record_t>(asked.what.data);
    if (!record) return SA_STATUS_ERR_REQ_INVALID;
    const subnet& net = asked.net;
    const port_ref port = net.port_of(record->PortGID.gid_guid);
    const std::vector<ib_pkey_t> port_keys = net.keys_of(port);
    multicast_request wanted{.record = *record,
                             .components = asked.sa.component_mask,
                             .requester = net.gid_of(asked.by.port()),
                             .requester_keys = asked.by.keys(),
                             .port_known = port.valid(),
                             .port_keys = port_keys};
    if (port.valid()) {
        wanted.port_mtu = net.nodes.at(port).info.MTUCap;
        wanted.port_rate = rate_of(net.nodes.at(port).info);
    }
    const multicast_answer done = joins ? groups_.join(wanted) : groups_.leave(wanted);
    if (done.status != SA_STATUS_NO_ERROR) return done.status;
    found.add(done.record);
    rerouted_ = {done.record.MLID, done.tree_changed, joins ? port : port_ref{}};
    group_changed(done, net);
    return SA_STATUS_NO_ERROR;
}

// A requester may subscribe to events of ports that it may see; every requester may subscribe to
// those of all ports. Source: IBA 13.4.11.
bool sa_server::may_subscribe(const request& asked, const ib_mad_informinfo_t& info) {
    const bool all = info.LIDRangeBegin == MAD_INFORMINFO_ALL_ENDPORTS_RANGE;
    if (info.Subscribe != MAD_INFORMINFO_SUBSCRIBE) return true;
    const lid_table& lids = asked.net.lids;
    if (!same_gid(info.GID, {})) {
        const port_ref port = asked.net.port_of(info.GID.gid_guid);
        return port.valid() && asked.by.sees(port);
    }
    if (all) return true;
    if (info.LIDRangeBegin > lids.top()) return false;
    const std::uint32_t last = std::clamp(info.LIDRangeEnd, info.LIDRangeBegin, lids.top());
    for (std::uint32_t lid = info.LIDRangeBegin; lid <= last; ++lid) {
        const port_ref port = lids.port_of(static_cast<ib_lid_t>(lid));
        if (port.valid() && !asked.by.sees(port)) return false;
    }
    return true;
}

std::uint16_t sa_server::set_subscription(const request& asked, record_list& found) {
    auto info = unpack<ib_mad_informinfo_t>(asked.what.data);
    if (!info || !may_subscribe(asked, *info)) return SA_STATUS_ERR_REQ_INVALID;
    const ibmf_addr_info_t& from = asked.what.peer.local;
    const subscriber who{asked.net.gid_of(asked.by.port()), from.ia_remote_lid, from.ia_remote_qno,
                         from.ia_p_key, from.ia_service_level};
    const std::uint16_t status = subscriptions_.set(who, *info, asked.trusted);
    if (status == SA_STATUS_NO_ERROR) found.add(*info);
    return status;
}

std::uint16_t sa_server::subscriptions(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_informinfo_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each : subscriptions_.find(*wanted, asked.sa.component_mask))
        if (asked.by.sees(asked.net.port_of(each.SubscriberGID.gid_guid))) found.add(each);
    return SA_STATUS_NO_ERROR;
}

} // namespace irpverbs::subnet_manager
