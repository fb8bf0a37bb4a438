#include "describe.hpp"

#include "guid.hpp"

#include <ci/names.hpp>

#include <boost/json/array.hpp>

namespace irpctl {

namespace json = boost::json;

namespace {

json::array list(const std::vector<std::string_view>& names) {
    return json::array(names.begin(), names.end());
}

// The version has the encoding of ibv_query_device(3): 32, 16 and 16 bits.
std::string firmware(ULONGLONG version) {
    return fmt::format("{}.{}.{}", version >> 32, version >> 16 & 0xFFFF, version & 0xFFFF);
}

std::string_view state(const IB_PORT_ATTR& port) {
    return ci::name_of(static_cast<IB_PORT_STATE>(port.State));
}

std::string_view physical_state(const IB_PORT_ATTR& port) {
    return ci::name_of(static_cast<IB_PORT_PHYSICAL_STATE>(port.PhysicalState));
}

std::string link(const IB_PORT_ATTR& port) {
    return fmt::format("{} {}", ci::name_of(static_cast<IB_LINK_WIDTH>(port.ActiveWidth)),
                       ci::name_of(static_cast<IB_LINK_SPEED>(port.ActiveSpeed)));
}

json::array flags(const IB_PORT_ATTR& port) {
    json::array names;
    if ((port.Flags & IB_PORT_GRH_REQUIRED) != 0) names.emplace_back("GRH_REQUIRED");
    if ((port.Flags & IB_PORT_MAD_QPS) != 0) names.emplace_back("MAD_QPS");
    return names;
}

std::string hexadecimal(ULONGLONG bits) { return fmt::format("0x{:x}", bits); }

// Source: IBA 11.2.1.2.
json::object limits(const IB_CA_ATTR& of) {
    return {{"max_qps", of.MaxQps},
            {"max_qp_wrs", of.MaxQpWrs},
            {"max_sges", of.MaxSges},
            {"max_sges_of_rd", of.MaxSgesOfRd},
            {"max_sges_of_read", of.MaxSgesOfRead},
            {"max_inline_data", of.MaxInlineData},
            {"max_cqs", of.MaxCqs},
            {"max_cqes", of.MaxCqes},
            {"max_pds", of.MaxPds},
            {"max_mrs", of.MaxMrs},
            {"max_mr_size", of.MaxMrSize},
            {"page_sizes", hexadecimal(of.PageSizes)},
            {"max_mws", of.MaxMws},
            {"max_fast_registration_pages", of.MaxFastRegistrationPages},
            {"max_fmrs", of.MaxFmrs},
            {"max_maps_of_fmr", of.MaxMapsOfFmr},
            {"max_reads_as_responder_of_qp", of.MaxReadsAsResponderOfQp},
            {"max_reads_as_responder", of.MaxReadsAsResponder},
            {"max_reads_as_initiator_of_qp", of.MaxReadsAsInitiatorOfQp},
            {"atomicity", ci::name_of(static_cast<IB_ATOMIC>(of.Atomicity))},
            {"max_eecs", of.MaxEecs},
            {"max_rdds", of.MaxRdds},
            {"max_reads_as_responder_of_eec", of.MaxReadsAsResponderOfEec},
            {"max_reads_as_initiator_of_eec", of.MaxReadsAsInitiatorOfEec},
            {"max_raw_ipv6_qps", of.MaxRawIpv6Qps},
            {"max_raw_ethertype_qps", of.MaxRawEthertypeQps},
            {"max_multicast_groups", of.MaxMulticastGroups},
            {"max_qps_of_multicast_group", of.MaxQpsOfMulticastGroup},
            {"max_multicast_attachments", of.MaxMulticastAttachments},
            {"max_avs", of.MaxAvs},
            {"max_srqs", of.MaxSrqs},
            {"max_srq_wrs", of.MaxSrqWrs},
            {"max_srq_sges", of.MaxSrqSges},
            {"max_xrc_domains", of.MaxXrcDomains},
            {"max_xrc_srqs", of.MaxXrcSrqs},
            {"max_completion_handlers", of.MaxCompletionHandlers},
            {"min_block_size", of.MinBlockSize},
            {"max_block_size", of.MaxBlockSize},
            {"max_pkeys", of.MaxPKeys},
            {"local_ack_delay", of.LocalAckDelay}};
}

// Attributes beyond the IBA. Source: ibv_query_device_ex(3).
json::object extended(const IB_CA_EXTENDED_ATTR& of) {
    return {{"device_flags", hexadecimal(of.Flags)},
            {"timestamp_mask", hexadecimal(of.TimestampMask)},
            {"timestamp_frequency", of.TimestampFrequency},
            {"max_device_memory", of.MaxDeviceMemory},
            {"on_demand_paging", hexadecimal(of.OnDemandPaging)},
            {"on_demand_rc", hexadecimal(of.OnDemandRc)},
            {"on_demand_uc", hexadecimal(of.OnDemandUc)},
            {"on_demand_ud", hexadecimal(of.OnDemandUd)},
            {"on_demand_xrc", hexadecimal(of.OnDemandXrc)},
            {"max_segmentation", of.MaxSegmentation},
            {"segmentation_qp_types", hexadecimal(of.SegmentationQpTypes)},
            {"hash_fields", hexadecimal(of.HashFields)},
            {"hash_functions", hexadecimal(of.HashFunctions)},
            {"hash_qp_types", hexadecimal(of.HashQpTypes)},
            {"max_indirection_tables", of.MaxIndirectionTables},
            {"max_indirection_table_size", of.MaxIndirectionTableSize},
            {"max_receive_wqs", of.MaxReceiveWqs},
            {"min_pacing_rate", of.MinPacingRate},
            {"max_pacing_rate", of.MaxPacingRate},
            {"pacing_qp_types", hexadecimal(of.PacingQpTypes)},
            {"raw_packets", hexadecimal(of.RawPackets)},
            {"max_rendezvous_header", of.MaxRendezvousHeader},
            {"max_tags", of.MaxTags},
            {"tag_flags", hexadecimal(of.TagFlags)},
            {"max_tag_operations", of.MaxTagOperations},
            {"max_tag_sges", of.MaxTagSges},
            {"max_moderation_count", of.MaxModerationCount},
            {"max_moderation_period", of.MaxModerationPeriod},
            {"pci_fetch_and_add", hexadecimal(of.PciFetchAndAdd)},
            {"pci_swap", hexadecimal(of.PciSwap)},
            {"pci_compare_and_swap", hexadecimal(of.PciCompareAndSwap)}};
}

json::object summary(const IB_PORT_ATTR& port) {
    return {{"port", port.PortNumber},
            {"state", state(port)},
            {"physical_state", physical_state(port)},
            {"lid", port.Lid},
            {"link", link(port)}};
}

// The format is that of inet_ntop(3), without abbreviations.
std::string gid_text(const ib_gid_t& gid) {
    std::string text;
    for (const std::uint64_t half : {gid.gid_prefix, gid.gid_guid})
        for (int shift = 48; shift >= 0; shift -= 16)
            text += fmt::format("{}{:04x}", text.empty() ? "" : ":", half >> shift & 0xFFFF);
    return text;
}

void add_link(json::object& object, const IB_PORT_ATTR& port) {
    object["link"] = link(port);
    object["supported_widths"] = list(ci::link_widths(port.SupportedWidths));
    object["enabled_widths"] = list(ci::link_widths(port.EnabledWidths));
    object["supported_speeds"] = list(ci::link_speeds(port.SupportedSpeeds));
    object["enabled_speeds"] = list(ci::link_speeds(port.EnabledSpeeds));
    object["link_layer"] = port.LinkLayer == IB_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    object["max_mtu"] = ci::bytes_of(static_cast<IB_MTU>(port.MaxMtu));
    object["active_mtu"] = ci::bytes_of(static_cast<IB_MTU>(port.ActiveMtu));
    object["max_message_size"] = port.MaxMessageSize;
    object["max_vls"] = port.MaxVls;
    object["operational_vls"] = port.OperationalVls;
}

void add_tables(json::object& object, const IB_PORT_ATTR& port) {
    json::array gids;
    for (std::size_t i = 0; i < ci::gids(port).size(); ++i) {
        const ib_gid_t& gid = ci::gids(port)[i];
        if (gid.gid_prefix != 0 || gid.gid_guid != 0) // otherwise an empty entry
            gids.push_back({{"index", i}, {"gid", gid_text(gid)}});
    }
    object["gids"] = std::move(gids);
    json::array pkeys;
    for (std::size_t i = 0; i < ci::pkeys(port).size(); ++i) {
        const ib_pkey_t pkey = ci::pkeys(port)[i];
        if (pkey != 0) // 0 is invalid: an empty entry
            pkeys.push_back({{"index", i}, {"pkey", fmt::format("0x{:04x}", pkey)}});
    }
    object["pkeys"] = std::move(pkeys);
}

} // namespace

json::object describe(const device& which, const IB_CA_ATTR& attributes) {
    json::array ports;
    for (const IB_PORT_ATTR& each : ci::ports(attributes))
        ports.push_back(summary(each));
    return {{"device", which.name},
            {"node_guid", guid_text(attributes.NodeGuid)},
            {"system_image_guid", guid_text(attributes.SystemImageGuid)},
            {"description", ci::node_description(attributes)},
            {"transport", ci::name_of(static_cast<IB_TRANSPORT>(attributes.Transport))},
            {"vendor", fmt::format("0x{:06x}", attributes.VendorId)},
            {"part", attributes.VendorPartId},
            {"hardware", hexadecimal(attributes.HardwareVersion)},
            {"firmware", firmware(attributes.FirmwareVersion)},
            {"capabilities", list(ci::ca_capabilities(attributes.Capabilities))},
            {"limits", limits(attributes)},
            {"extended", extended(attributes.Extended)},
            {"ports", std::move(ports)}};
}

json::object describe(const device& which, const IB_PORT_ATTR& attributes) {
    json::object object{{"device", which.name},
                        {"node_guid", guid_text(which.guid)},
                        {"port", attributes.PortNumber},
                        {"port_guid", guid_text(attributes.PortGuid)},
                        {"state", state(attributes)},
                        {"physical_state", physical_state(attributes)},
                        {"lid", attributes.Lid},
                        {"lmc", attributes.Lmc},
                        {"sm_lid", attributes.SmLid},
                        {"sm_sl", attributes.SmSl},
                        {"subnet_timeout", attributes.SubnetTimeout},
                        {"init_type_reply", attributes.InitTypeReply}};
    add_link(object, attributes);
    object["pkey_violations"] = attributes.PKeyViolations;
    object["qkey_violations"] = attributes.QKeyViolations;
    object["mkey_violations"] = attributes.MKeyViolations;
    object["flags"] = flags(attributes);
    object["capabilities"] = list(ci::port_capabilities(attributes.CapabilityMask));
    object["capabilities_2"] = fmt::format("0x{:04x}", attributes.CapabilityMask2);
    object["gid_places"] = attributes.GidCount;
    object["pkey_places"] = attributes.PKeyCount;
    add_tables(object, attributes);
    return object;
}

} // namespace irpctl
