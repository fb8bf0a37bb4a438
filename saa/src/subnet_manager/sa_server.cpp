#include "sa_server.hpp"

#include <dispatch/timer.h>

#include <algorithm>

namespace irpverbs::saa {

namespace {

constexpr std::uint8_t class_version = 2;
constexpr std::uint8_t response_time = 18;
constexpr std::uint16_t optional_records = 0x0100;
constexpr std::uint16_t ud_multicast = 0x0200;
constexpr std::uint16_t multipath = 0x0400;

std::uint8_t response_to(std::uint8_t method) {
    return method == SA_SUBN_ADM_SET ? SA_SUBN_ADM_GET_RESP
                                     : static_cast<std::uint8_t>(method | MAD_RESPONSE_BIT);
}

bool is_transfer(std::uint8_t response) {
    return response == SA_SUBN_ADM_GET_TABLE_RESP || response == SA_SUBN_ADM_GET_MULTI_RESP;
}

ibmf::sa_header sa_header_of(const message_parts& what) {
    return ibmf::load_sa_header(
        std::span<const std::uint8_t, ibmf::sa_header::size>(what.class_header));
}

std::vector<ib_pkey_t> keys_of(const subnet& net, port_ref end) {
    if (!end.valid()) return {};
    return net.partitions.keys_of(net.nodes.at(end).guid, net.nodes[end.node].info.NodeType,
                                  net.settings.manager_guid);
}

ib_gid_t gid_of(const subnet& net, port_ref end) {
    return end.valid() ? ib_gid_t{net.settings.prefix, net.nodes.at(end).guid} : ib_gid_t{};
}

port_ref requester_of(const subnet& net, const message_parts& what) {
    return net.lids.port_of(what.peer.local.ia_remote_lid);
}

// One that the subnet manager itself makes. Source: IBA 14.4.9 to 14.4.12 (traps 64 to 67).
ib_mad_notice_t notice_about(const subnet& net, std::uint16_t trap, const ib_gid_t& gid) {
    ib_mad_notice_t notice{};
    notice.IsGeneric = MAD_NOTICE_IS_GENERIC;
    notice.Type = MAD_NOTICE_TYPE_SUBNET_MGMT;
    notice.ProducerType_VendorID = MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT;
    notice.TrapNumber_DeviceID = trap;
    notice.IssuerLID = net.manager_lid();
    notice.IssuerGID = gid_of(net, net.manager);
    constexpr std::size_t gid_offset = 6;
    ibmf::detail::store_be(&notice.DataDetails[gid_offset], gid.gid_prefix);
    ibmf::detail::store_be(&notice.DataDetails[gid_offset + 8], gid.gid_guid);
    return notice;
}

} // namespace

struct sa_server::service_entry {
    std::uint16_t attribute;
    std::uint8_t method;
    handler serve;
};

template <std::uint16_t (*Find)(const sa_query&, record_list&)>
std::uint16_t sa_server::look_up(const request& asked, record_list& found) {
    return Find(asked.query(), found);
}

const sa_server::service_entry* sa_server::find_service(std::uint16_t attribute,
                                                        std::uint8_t method) {
    constexpr std::uint8_t get = SA_SUBN_ADM_GET;
    using self = sa_server;
    // Where a Get may be asked, a GetTable may be, but for attributes that are no records.
    static constexpr service_entry all[] = {
        {SA_CLASSPORTINFO_ATTRID, get, &self::class_port_info},
        {SA_INFORMINFO_ATTRID, SA_SUBN_ADM_SET, &self::set_subscription},
        {SA_NODERECORD_ATTRID, get, &self::look_up<find_nodes>},
        {SA_PORTINFORECORD_ATTRID, get, &self::look_up<find_ports>},
        {SA_SWITCHINFORECORD_ATTRID, get, &self::look_up<find_switches>},
        {SA_LINEARFDBRECORD_ATTRID, get, &self::look_up<find_linear_tables>},
        {SA_SMINFORECORD_ATTRID, get, &self::sm_info_records},
        {SA_LINKRECORD_ATTRID, get, &self::look_up<find_links>},
        {SA_GUIDINFORECORD_ATTRID, get, &self::look_up<find_guids>},
        {SA_PARTITIONRECORD_ATTRID, get, &self::look_up<find_keys>},
        {SA_PATHRECORD_ATTRID, get, &self::look_up<find_paths>},
        {SA_MULTIPATHRECORD_ATTRID, SA_SUBN_ADM_GET_MULTI, &self::look_up<find_multiple_paths>},
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

void sa_server::answer(message_parts what, const subnet* net,
                       std::span<const sm_sminfo_t> managers) {
    if (what.class_header.size() != ibmf::sa_header::size) return;
    const ibmf::sa_header sa = sa_header_of(what);
    if (sa.sm_key != 0 && sa.sm_key != key_) return; // as OpenSM does
    record_list found;
    rerouted_ = 0;
    std::uint16_t status = MAD_STATUS_BUSY;
    const service_entry* const service = find_service(what.header.attribute_id, what.header.method);
    if (what.header.class_version != class_version)
        status = MAD_STATUS_BAD_VERSION;
    else if (service == nullptr)
        status = MAD_STATUS_UNSUPP_METHOD_ATTR;
    else if (net != nullptr)
        status = (this->*service->serve)({what, *net, managers, sa, sa.sm_key != 0}, found);
    const bool one = !is_transfer(response_to(what.header.method));
    if (status == SA_STATUS_NO_ERROR && one && found.count() != 1)
        status = found.count() == 0 ? SA_STATUS_ERR_NO_RECORDS : SA_STATUS_ERR_TOO_MANY_RECORDS;
    if (rerouted_ == 0) return send(std::move(what), status, std::move(found));
    // Who has joined can be reached when he is told so.
    router_.route(*net, groups_, rerouted_,
                  [this, what = std::move(what), status, found = std::move(found)]() mutable {
                      send(std::move(what), status, std::move(found));
                  });
}

// An error is answered with what was asked.
void sa_server::send(message_parts answer, std::uint16_t status, record_list found) {
    answer.header.method = response_to(answer.header.method);
    answer.header.status = status;
    const bool transfer = status == SA_STATUS_NO_ERROR && is_transfer(answer.header.method);
    if (status == SA_STATUS_NO_ERROR) {
        ibmf::sa_header sa = sa_header_of(answer);
        sa.attribute_offset = static_cast<std::uint16_t>(found.stride() / 8);
        ibmf::store(std::span<std::uint8_t, ibmf::sa_header::size>(answer.class_header), sa);
        answer.data = found.take_bytes();
    } else {
        answer.data.resize(
            std::min(answer.data.size(), ibmf::layout_of(MAD_MGMT_CLASS_SUBN_ADM).data_size()));
    }
    port_.send(std::move(answer), transfer ? IBMF_MSG_TRANS_FLAG_RMPP : 0);
}

std::uint16_t sa_server::class_port_info(const request&, record_list& found) {
    ib_mad_classportinfo_t info{};
    info.BaseVersion = MAD_CLASS_BASE_VERS_1;
    info.ClassVersion = class_version;
    info.CapabilityMask = optional_records | ud_multicast | multipath;
    info.RespTimeValue = response_time;
    found.add(info);
    return SA_STATUS_NO_ERROR;
}

std::uint16_t sa_server::sm_info_records(const request& asked, record_list& found) {
    return add_matching<sa_sminfo_record_t>(asked.query(), found, [&](const auto& emit) {
        for (const sm_sminfo_t& each : asked.managers) {
            sa_sminfo_record_t record{};
            record.LID = asked.net.lids.of(each.GUID).base;
            record.SMInfo = each;
            if (!asked.trusted) record.SMInfo.SM_Key = 0;
            emit(record);
        }
    });
}

std::uint16_t sa_server::services(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_service_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each :
         services_.find(*wanted, asked.sa.component_mask, KeQueryInterruptTime(), asked.trusted))
        found.add(each);
    return SA_STATUS_NO_ERROR;
}

std::uint16_t sa_server::set_service(const request& asked, record_list& found) {
    const auto record = unpack<sa_service_record_t>(asked.what.data);
    if (!record) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status =
        services_.set(*record, asked.sa.component_mask, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(*record);
    return status;
}

std::uint16_t sa_server::delete_service(const request& asked, record_list& found) {
    auto record = unpack<sa_service_record_t>(asked.what.data);
    if (!record) return SA_STATUS_ERR_REQ_INVALID;
    const std::uint16_t status = services_.erase(*record, KeQueryInterruptTime());
    if (status == SA_STATUS_NO_ERROR) found.add(*record);
    return status;
}

std::uint16_t sa_server::memberships(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_mcmember_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each : groups_.find(*wanted, asked.sa.component_mask, asked.trusted))
        found.add(each);
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
    const port_ref requester = requester_of(net, asked.what);
    const port_ref port = net.port_of(record->PortGID.gid_guid);
    const std::vector<ib_pkey_t> requester_keys = keys_of(net, requester);
    const std::vector<ib_pkey_t> port_keys = keys_of(net, port);
    multicast_request wanted{.record = *record,
                             .components = asked.sa.component_mask,
                             .requester = gid_of(net, requester),
                             .requester_keys = requester_keys,
                             .port_known = port.valid(),
                             .port_keys = port_keys};
    if (port.valid()) {
        wanted.port_mtu = net.nodes.at(port).info.MTUCap;
        wanted.port_rate = rate_of(net.nodes.at(port).info);
    }
    const multicast_answer done = joins ? groups_.join(wanted) : groups_.leave(wanted);
    if (done.status != SA_STATUS_NO_ERROR) return done.status;
    found.add(done.record);
    group_changed(done, net);
    return SA_STATUS_NO_ERROR;
}

void sa_server::group_changed(const multicast_answer& done, const subnet& net) {
    if (done.tree_changed) rerouted_ = done.record.MLID;
    if (done.group_created) report(notice_about(net, SM_MGID_CREATED_TRAP, done.record.MGID), net);
    if (done.group_deleted)
        report(notice_about(net, SM_MGID_DESTROYED_TRAP, done.record.MGID), net);
}

std::uint16_t sa_server::set_subscription(const request& asked, record_list& found) {
    const auto info = unpack<ib_mad_informinfo_t>(asked.what.data);
    const port_ref requester = requester_of(asked.net, asked.what);
    if (!info || !requester.valid()) return SA_STATUS_ERR_REQ_INVALID;
    const ibmf_addr_info_t& from = asked.what.peer.local;
    const subscriber who{gid_of(asked.net, requester), from.ia_remote_lid, from.ia_remote_qno,
                         from.ia_p_key, from.ia_service_level};
    const std::uint16_t status = subscriptions_.set(who, *info, asked.trusted);
    if (status == SA_STATUS_NO_ERROR) found.add(*info);
    return status;
}

std::uint16_t sa_server::subscriptions(const request& asked, record_list& found) {
    const auto wanted = unpack<sa_informinfo_record_t>(asked.what.data);
    if (!wanted) return SA_STATUS_ERR_REQ_INVALID;
    for (const auto& each : subscriptions_.find(*wanted, asked.sa.component_mask))
        found.add(each);
    return SA_STATUS_NO_ERROR;
}

void sa_server::report(const ib_mad_notice_t& notice, const subnet& net) {
    const port_ref issuer = net.lids.port_of(notice.IssuerLID);
    ib_mad_notice_t told = notice;
    if (issuer.valid()) told.IssuerGID = gid_of(net, issuer);
    for (const subscription* each : subscriptions_.interested(told))
        reporter_.send(*each, told);
}

void sa_server::subnet_changed(const subnet* before, const subnet& now) {
    const auto ports_of = [](const subnet& net) {
        std::vector<ib_guid_t> guids;
        for (const port_ref end : net.nodes.end_ports()) // by GUID
            guids.push_back(net.nodes.at(end).guid);
        return guids;
    };
    const std::vector<ib_guid_t> here = ports_of(now);
    const std::vector<ib_guid_t> were = before != nullptr ? ports_of(*before) : here;
    for (const ib_guid_t guid : were)
        if (!std::ranges::binary_search(here, guid)) port_went(guid, now);
    for (const ib_guid_t guid : here)
        if (!std::ranges::binary_search(were, guid))
            report(notice_about(now, SM_GID_IN_SERVICE_TRAP, {now.settings.prefix, guid}), now);
    router_.route_all(now, groups_);
}

// With it go its memberships and subscriptions.
void sa_server::port_went(ib_guid_t port, const subnet& now) {
    const ib_gid_t gid{now.settings.prefix, port};
    subscriptions_.remove(gid);
    report(notice_about(now, SM_GID_OUT_OF_SERVICE_TRAP, gid), now);
    for (const multicast_answer& left : groups_.remove_port(gid))
        group_changed(left, now);
}

} // namespace irpverbs::saa
