#include "sa_server.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

constexpr std::uint8_t class_version = 2;
constexpr std::uint8_t response_time = 18;
constexpr std::uint16_t optional_records = 0x0100;
constexpr std::uint16_t ud_multicast = 0x0200;
constexpr std::uint16_t multipath = 0x0400;

bool is_transfer(std::uint8_t response) {
    return response == SA_SUBN_ADM_GET_TABLE_RESP || response == SA_SUBN_ADM_GET_MULTI_RESP;
}

ibmf::sa_header sa_header_of(const message_parts& what) {
    return ibmf::load_sa_header(
        std::span<const std::uint8_t, ibmf::sa_header::size>(what.class_header));
}

// Returns the end ports of `net` that are not in `other`.
std::vector<port_ref> ports_not_in(const subnet& other, const subnet& net) {
    std::vector<ib_guid_t> there; // sorted, since end ports are
    for (const port_ref end : other.nodes.end_ports())
        there.push_back(other.nodes.at(end).guid);
    std::vector<port_ref> missing = net.nodes.end_ports();
    std::erase_if(missing, [&](port_ref end) {
        return std::ranges::binary_search(there, net.nodes.at(end).guid);
    });
    return missing;
}

// Returns a Notice of the subnet manager itself. Source: IBA 14.4.9 to 14.4.12 (traps 64 to 67).
ib_mad_notice_t notice_about(const subnet& net, std::uint16_t trap, const ib_gid_t& gid) {
    ib_mad_notice_t notice{};
    notice.IsGeneric = MAD_NOTICE_IS_GENERIC;
    notice.Type = MAD_NOTICE_TYPE_SUBNET_MGMT;
    notice.ProducerType_VendorID = MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT;
    notice.TrapNumber_DeviceID = trap;
    notice.IssuerLID = net.manager_lid();
    notice.IssuerGID = net.gid_of(net.manager);
    constexpr std::size_t gid_offset = 6;
    boost::endian::store_big_u64(&notice.DataDetails[gid_offset], gid.gid_prefix);
    boost::endian::store_big_u64(&notice.DataDetails[gid_offset + 8], gid.gid_guid);
    return notice;
}

} // namespace

sa_server::sa_server(message_port& port, multicast_router& router, std::uint64_t key,
                     const partition_table& partitions,
                     std::function<void(ib_guid_t port)> reregister)
    : port_(port), router_(router), key_(key), reregister_(std::move(reregister)),
      reporter_(port, [this](const subscriber& whose) { on_reports_lost(whose); }) {
    for (const partition& each : partitions.partitions())
        for (const planned_group& group : each.groups)
            groups_.plan(group);
}

struct sa_server::service_entry {
    std::uint16_t attribute;
    std::uint8_t method;
    handler serve;
};

template <std::uint16_t (*Find)(const sa_query&, record_list&)>
std::uint16_t sa_server::run_query(const sa_request& request, record_list& found) {
    return Find(request.query(groups_), found);
}

const sa_server::service_entry* sa_server::find_service(std::uint16_t attribute,
                                                        std::uint8_t method) {
    constexpr std::uint8_t get = SA_SUBN_ADM_GET;
    using self = sa_server;
    // An attribute that supports Get supports GetTable, too, unless it is no record.
    static constexpr service_entry all[] = {
        {SA_CLASSPORTINFO_ATTRID, get, &self::class_port_info},
        {SA_INFORMINFO_ATTRID, SA_SUBN_ADM_SET, &self::set_subscription},
        {SA_NODERECORD_ATTRID, get, &self::run_query<find_nodes>},
        {SA_PORTINFORECORD_ATTRID, get, &self::run_query<find_ports>},
        {SA_SWITCHINFORECORD_ATTRID, get, &self::run_query<find_switches>},
        {SA_LINEARFDBRECORD_ATTRID, get, &self::run_query<find_linear_tables>},
        {SA_MULTICASTFDBRECORD_ATTRID, get, &self::multicast_tables},
        {SA_SMINFORECORD_ATTRID, get, &self::sm_info_records},
        {SA_LINKRECORD_ATTRID, get, &self::run_query<find_links>},
        {SA_GUIDINFORECORD_ATTRID, get, &self::run_query<find_guids>},
        {SA_PARTITIONRECORD_ATTRID, get, &self::run_query<find_keys>},
        {SA_PATHRECORD_ATTRID, get, &self::run_query<find_paths>},
        {SA_MULTIPATHRECORD_ATTRID, SA_SUBN_ADM_GET_MULTI, &self::run_query<find_multiple_paths>},
        {SA_SERVICERECORD_ATTRID, get, &self::services},
        {SA_SERVICERECORD_ATTRID, SA_SUBN_ADM_SET, &self::set_service},
        {SA_SERVICERECORD_ATTRID, SA_SUBN_ADM_DELETE, &self::delete_service},
        {SA_MCMEMBERRECORD_ATTRID, get, &self::memberships},
        {SA_MCMEMBERRECORD_ATTRID, SA_SUBN_ADM_SET, &self::join},
        {SA_MCMEMBERRECORD_ATTRID, SA_SUBN_ADM_DELETE, &self::leave},
        {SA_INFORMINFORECORD_ATTRID, get, &self::subscriptions},
    };
    const bool is_record = attribute > SA_INFORMINFO_ATTRID;
    if (method == SA_SUBN_ADM_GET_TABLE && is_record) method = get;
    const auto found = std::ranges::find_if(all, [&](const service_entry& each) {
        return each.attribute == attribute && each.method == method;
    });
    return found != std::end(all) ? found : nullptr;
}

void sa_server::respond(message_parts what, const subnet* net,
                        std::span<const sm_sminfo_t> managers) {
    if (what.class_header.size() != ibmf::sa_header::size) return;
    const ibmf::sa_header sa = sa_header_of(what);
    if (sa.sm_key != 0 && sa.sm_key != key_) return; // as OpenSM does
    record_list found;
    rerouted_ = {};
    std::uint16_t status = MAD_STATUS_BUSY;
    const service_entry* const service = find_service(what.header.attribute_id, what.header.method);
    if (what.header.class_version != class_version)
        status = MAD_STATUS_BAD_VERSION;
    else if (service == nullptr)
        status = MAD_STATUS_UNSUPP_METHOD_ATTR;
    else if (net != nullptr)
        status = find(*service, what, *net, managers, found);
    const bool one = !is_transfer(response_to(what.header.method));
    if (status == SA_STATUS_NO_ERROR && one && found.count() != 1)
        status = found.count() == 0 ? SA_STATUS_ERR_NO_RECORDS : SA_STATUS_ERR_TOO_MANY_RECORDS;
    if (rerouted_.mlid == 0) return send(std::move(what), status, std::move(found));
    respond_when_routed(std::move(what), status, std::move(found), *net);
}

// Sends the response after the multicast tables are programmed, so that a member is reachable when
// it receives the response. If a switch has refused its table, the response asks the requester to
// repeat the request; it is a member already, and its tree is written again.
void sa_server::respond_when_routed(message_parts what, std::uint16_t status, record_list found,
                                    const subnet& net) {
    const rerouting changed = rerouted_;
    auto routed = [this, what = std::move(what), status,
                   found = std::move(found)](bool success) mutable {
        send(std::move(what), success ? status : std::uint16_t{MAD_STATUS_BUSY}, std::move(found));
    };
    if (!changed.tree_changed)
        router_.wait(net, changed.mlid, std::move(routed));
    else if (changed.joined.valid())
        router_.add(net, groups_, changed.mlid, changed.joined, std::move(routed));
    else
        router_.rebuild(net, groups_, changed.mlid, std::move(routed));
}

void sa_server::route_groups(const subnet& net) {
    groups_.limit(multicast_router::mlids_of(net));
    router_.route_all(net, groups_);
}

// The port of an unknown requester has appeared since the last sweep.
std::uint16_t sa_server::find(const service_entry& service, const message_parts& what,
                              const subnet& net, std::span<const sm_sminfo_t> managers,
                              record_list& found) {
    const pkey_access access(net, net.lids.port_of(what.peer.local.ia_remote_lid));
    if (!access.port().valid()) return MAD_STATUS_BUSY;
    const ibmf::sa_header sa = sa_header_of(what);
    return (this->*service.serve)({what, net, access, managers, sa, sa.sm_key != 0}, found);
}

// The response to a failed request has the request's contents.
void sa_server::send(message_parts response, std::uint16_t status, record_list found) {
    response.header.method = response_to(response.header.method);
    response.header.status = status;
    if (response.header.attribute_id == SA_MULTIPATHRECORD_ATTRID)
        response.header.attribute_id = SA_PATHRECORD_ATTRID; // also in errors, as in OpenSM
    const bool transfer = status == SA_STATUS_NO_ERROR && is_transfer(response.header.method);
    if (status == SA_STATUS_NO_ERROR) {
        ibmf::sa_header sa = sa_header_of(response);
        sa.attribute_offset = static_cast<std::uint16_t>(found.stride() / 8);
        ibmf::store(std::span<std::uint8_t, ibmf::sa_header::size>(response.class_header), sa);
        response.data = found.take_bytes();
    } else {
        response.data.resize(
            std::min(response.data.size(), ibmf::layout_of(MAD_MGMT_CLASS_SUBN_ADM).data_size()));
    }
    port_.send(std::move(response), transfer ? IBMF_MSG_TRANS_FLAG_RMPP : 0);
}

std::uint16_t sa_server::class_port_info(const sa_request&, record_list& found) {
    ib_mad_classportinfo_t info{};
    info.BaseVersion = MAD_CLASS_BASE_VERS_1;
    info.ClassVersion = class_version;
    info.CapabilityMask = optional_records | ud_multicast | multipath;
    info.RespTimeValue = response_time;
    found.add(info);
    return SA_STATUS_NO_ERROR;
}

std::uint16_t sa_server::multicast_tables(const sa_request& request, record_list& found) {
    using record_of_table = sa_multicastft_record_t;
    return add_matching<record_of_table>(request.query(groups_), found, [&](const auto& emit) {
        router_.for_each_table(request.net, [&](node_index node, unsigned block, unsigned position,
                                                const sm_multicast_forwarding_table_t& masks) {
            if (!request.access.may_see({node, 0})) return;
            record_of_table record{};
            record.LID = request.net.lids.of(request.net.nodes.at({node, 0}).guid).base;
            record.Position = static_cast<std::uint8_t>(position);
            record.BlockNum = static_cast<std::uint16_t>(block);
            record.MulticastFT = masks;
            emit(record);
        });
    });
}

std::uint16_t sa_server::sm_info_records(const sa_request& request, record_list& found) {
    return add_matching<sa_sminfo_record_t>(request.query(groups_), found, [&](const auto& emit) {
        for (const sm_sminfo_t& each : request.managers) {
            if (!request.access.may_see(request.net.port_of(each.GUID))) continue;
            sa_sminfo_record_t record{};
            record.LID = request.net.lids.of(each.GUID).base;
            record.SMInfo = each;
            if (!request.trusted) record.SMInfo.SM_Key = 0;
            emit(record);
        }
    });
}

void sa_server::group_changed(const multicast_result& done, const subnet& net) {
    const auto is_member = [&](const pkey_access& who) { return who.holds(done.record.P_Key); };
    if (done.group_created)
        notify_subscribers(notice_about(net, SM_MGID_CREATED_TRAP, done.record.MGID), net,
                           is_member);
    if (done.group_deleted)
        notify_subscribers(notice_about(net, SM_MGID_DESTROYED_TRAP, done.record.MGID), net,
                           is_member);
}

void sa_server::report(const ib_mad_notice_t& notice, const subnet& net) {
    const port_ref issuer = net.lids.port_of(notice.IssuerLID);
    ib_mad_notice_t issued = notice;
    if (issuer.valid()) issued.IssuerGID = net.gid_of(issuer);
    notify_subscribers(issued, net, [&](const pkey_access& who) { return who.may_see(issuer); });
}

void sa_server::notify_subscribers(const ib_mad_notice_t& notice, const subnet& net,
                                   const std::function<bool(const pkey_access&)>& may_see) {
    for (const subscription* each : subscriptions_.matching(notice))
        if (may_see({net, net.port_of(each->from.gid.gid_guid)})) reporter_.send(*each, notice);
}

// The subscriber may only be slow. It subscribes again then, and knows that events are missing.
// Source: IBA 13.4.11 (a Report without a response may end the subscription).
void sa_server::on_reports_lost(const subscriber& whose) {
    const ib_gid_t gid = subscriptions_.remove(whose);
    if (gid != ib_gid_t{}) reregister_(gid.gid_guid);
}

void sa_server::subnet_changed(const subnet* before, const subnet& now) {
    if (before != nullptr) {
        on_ports_lost(ports_not_in(now, *before), *before);
        for (const port_ref came : ports_not_in(*before, now))
            notify_subscribers(notice_about(now, SM_GID_IN_SERVICE_TRAP, now.gid_of(came)), now,
                               [&](const pkey_access& who) { return who.may_see(came); });
    }
    route_groups(now);
}

void sa_server::on_ports_lost(std::span<const port_ref> lost, const subnet& net) {
    for (const port_ref each : lost)
        remove_port(each, net);
}

// The memberships and subscriptions of the port end.
void sa_server::remove_port(port_ref port, const subnet& net) {
    const ib_gid_t gid = net.gid_of(port);
    subscriptions_.remove(gid);
    reporter_.drop(net.lids.of(net.nodes.at(port).guid));
    notify_subscribers(notice_about(net, SM_GID_OUT_OF_SERVICE_TRAP, gid), net,
                       [&](const pkey_access& who) { return who.may_see(port); });
    for (const multicast_result& left : groups_.remove_port(gid))
        group_changed(left, net);
}

} // namespace irpverbs::subnet_manager
