#include "verbs_attributes.hpp"

#include "failure.hpp"
#include "sysfs_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <endian.h>

namespace irpverbs::hca_rdma {

namespace {

// Source: IBA 14.2.5.6 (VLCap).
UCHAR lanes_of(std::uint8_t code) {
    constexpr std::array<UCHAR, 6> lanes{0, 1, 2, 4, 8, 15};
    return code < lanes.size() ? lanes[code] : UCHAR{0};
}

// Up to FDR10 the bits are PortInfo's LinkSpeed; from FDR on they are LinkSpeedExt, shifted left by
// 4.
USHORT speed_of(std::uint8_t active) {
    const unsigned bits = active;
    return static_cast<USHORT>((bits & 0x0F) | (bits >> 4) << 8);
}

UCHAR link_layer_of(const ibv_port_attr& port, const ibv_device* device) {
    if (port.link_layer != IBV_LINK_LAYER_UNSPECIFIED) return port.link_layer;
    return device->transport_type == IBV_TRANSPORT_IB ? IBV_LINK_LAYER_INFINIBAND
                                                      : IBV_LINK_LAYER_ETHERNET;
}

IB_PORT_ATTR attributes_of(const ibv_port_attr& from, const ibv_device* device) {
    IB_PORT_ATTR attr{};
    attr.State = static_cast<UCHAR>(from.state);
    attr.PhysicalState = from.phys_state;
    attr.Lmc = from.lmc;
    attr.Lid = from.lid;
    attr.SmLid = from.sm_lid;
    attr.SmSl = from.sm_sl;
    attr.SubnetTimeout = from.subnet_timeout;
    attr.MaxMtu = static_cast<UCHAR>(from.max_mtu);
    attr.ActiveMtu = static_cast<UCHAR>(from.active_mtu);
    attr.CapabilityMask = from.port_cap_flags;
    attr.CapabilityMask2 = from.port_cap_flags2;
    attr.MaxMessageSize = from.max_msg_sz;
    attr.ActiveWidth = from.active_width;
    attr.ActiveSpeed = speed_of(from.active_speed);
    attr.PKeyViolations = static_cast<USHORT>(std::min(from.bad_pkey_cntr, 0xFFFFu));
    attr.QKeyViolations = static_cast<USHORT>(std::min(from.qkey_viol_cntr, 0xFFFFu));
    attr.MaxVls = lanes_of(from.max_vl_num);
    attr.InitTypeReply = from.init_type_reply;
    attr.LinkLayer = link_layer_of(from, device);
    attr.Flags = (from.flags & IBV_QPF_GRH_REQUIRED) != 0 ? IB_PORT_GRH_REQUIRED : 0;
    return attr;
}

ib_gid_t host_order(const ibv_gid& gid) {
    return {be64toh(gid.global.subnet_prefix), be64toh(gid.global.interface_id)};
}

constexpr ULONG same_capabilities = 0x7FFF; // bits with the same position in IBV_DEVICE_*

ULONG capabilities_of(unsigned flags) {
    struct moved {
        unsigned from;
        ULONG to;
    };
    constexpr std::array others{
        moved{IBV_DEVICE_MEM_WINDOW, IB_CA_CAP_MEMORY_WINDOWS},
        moved{IBV_DEVICE_MEM_WINDOW_TYPE_2A, IB_CA_CAP_MEMORY_WINDOWS_2A},
        moved{IBV_DEVICE_MEM_WINDOW_TYPE_2B, IB_CA_CAP_MEMORY_WINDOWS_2B},
        moved{IBV_DEVICE_MEM_MGT_EXTENSIONS, IB_CA_CAP_FAST_REGISTER},
    };
    ULONG capabilities = flags & same_capabilities;
    for (const moved& each : others)
        if ((flags & each.from) != 0) capabilities |= each.to;
    return capabilities;
}

ULONG limit(int value) { return value > 0 ? static_cast<ULONG>(value) : 0; }

void fill_identity(IB_CA_ATTR& attr, const ibv_device_attr& from) {
    attr.VendorId = from.vendor_id;
    attr.VendorPartId = from.vendor_part_id;
    attr.HardwareVersion = from.hw_ver;
    attr.NodeGuid = be64toh(from.node_guid);
    attr.SystemImageGuid = be64toh(from.sys_image_guid);
    attr.FirmwareVersion =
        firmware_version({from.fw_ver, strnlen(from.fw_ver, sizeof(from.fw_ver))});
    attr.Capabilities = capabilities_of(from.device_cap_flags);
    if (from.max_mcast_grp > 0) attr.Capabilities |= IB_CA_CAP_UD_MULTICAST;
    attr.PageSizes = from.page_size_cap;
    attr.Atomicity = static_cast<UCHAR>(from.atomic_cap);
    attr.LocalAckDelay = from.local_ca_ack_delay;
    attr.MaxPKeys = from.max_pkeys;
}

void fill_limits(IB_CA_ATTR& attr, const ibv_device_attr& from) {
    attr.MaxQps = limit(from.max_qp);
    attr.MaxQpWrs = limit(from.max_qp_wr);
    attr.MaxSges = limit(from.max_sge);
    attr.MaxSgesOfRd = attr.MaxSgesOfRead = limit(from.max_sge_rd);
    attr.MaxCqs = limit(from.max_cq);
    attr.MaxCqes = limit(from.max_cqe);
    attr.MaxPds = limit(from.max_pd);
    attr.MaxMrs = limit(from.max_mr);
    attr.MaxMrSize = from.max_mr_size;
    attr.MaxMws = limit(from.max_mw);
    attr.MaxFmrs = limit(from.max_fmr);
    attr.MaxMapsOfFmr = limit(from.max_map_per_fmr);
    attr.MaxReadsAsResponderOfQp = limit(from.max_qp_rd_atom);
    attr.MaxReadsAsResponder = limit(from.max_res_rd_atom);
    attr.MaxReadsAsInitiatorOfQp = limit(from.max_qp_init_rd_atom);
    attr.MaxEecs = limit(from.max_ee);
    attr.MaxRdds = limit(from.max_rdd);
    attr.MaxReadsAsResponderOfEec = limit(from.max_ee_rd_atom);
    attr.MaxReadsAsInitiatorOfEec = limit(from.max_ee_init_rd_atom);
    attr.MaxRawIpv6Qps = limit(from.max_raw_ipv6_qp);
    attr.MaxRawEthertypeQps = limit(from.max_raw_ethy_qp);
    attr.MaxMulticastGroups = limit(from.max_mcast_grp);
    attr.MaxQpsOfMulticastGroup = limit(from.max_mcast_qp_attach);
    attr.MaxMulticastAttachments = limit(from.max_total_mcast_qp_attach);
    attr.MaxAvs = limit(from.max_ah);
    attr.MaxSrqs = limit(from.max_srq);
    attr.MaxSrqWrs = limit(from.max_srq_wr);
    attr.MaxSrqSges = limit(from.max_srq_sge);
}

IB_CA_EXTENDED_ATTR extended(const ibv_device_attr_ex& from) {
    IB_CA_EXTENDED_ATTR attr{};
    // The driver does not post atomic writes.
    attr.Flags =
        (from.device_cap_flags_ex | from.orig_attr.device_cap_flags) & ~IB_CA_FLAG_ATOMIC_WRITE;
    attr.TimestampMask = from.completion_timestamp_mask;
    attr.TimestampFrequency = from.hca_core_clock;
    attr.MaxDeviceMemory = from.max_dm_size;
    attr.OnDemandPaging = from.odp_caps.general_caps;
    attr.OnDemandRc = from.odp_caps.per_transport_caps.rc_odp_caps;
    attr.OnDemandUc = from.odp_caps.per_transport_caps.uc_odp_caps;
    attr.OnDemandUd = from.odp_caps.per_transport_caps.ud_odp_caps;
    attr.OnDemandXrc = from.xrc_odp_caps;
    attr.MaxSegmentation = from.tso_caps.max_tso;
    attr.SegmentationQpTypes = from.tso_caps.supported_qpts;
    attr.HashFields = from.rss_caps.rx_hash_fields_mask;
    attr.HashFunctions = from.rss_caps.rx_hash_function;
    attr.HashQpTypes = from.rss_caps.supported_qpts;
    attr.MaxIndirectionTables = from.rss_caps.max_rwq_indirection_tables;
    attr.MaxIndirectionTableSize = from.rss_caps.max_rwq_indirection_table_size;
    attr.MaxReceiveWqs = from.max_wq_type_rq;
    attr.MinPacingRate = from.packet_pacing_caps.qp_rate_limit_min;
    attr.MaxPacingRate = from.packet_pacing_caps.qp_rate_limit_max;
    attr.PacingQpTypes = from.packet_pacing_caps.supported_qpts;
    attr.RawPackets = from.raw_packet_caps;
    attr.MaxRendezvousHeader = from.tm_caps.max_rndv_hdr_size;
    attr.MaxTags = from.tm_caps.max_num_tags;
    attr.TagFlags = from.tm_caps.flags;
    attr.MaxTagOperations = from.tm_caps.max_ops;
    attr.MaxTagSges = from.tm_caps.max_sge;
    attr.MaxModerationCount = from.cq_mod_caps.max_cq_count;
    attr.MaxModerationPeriod = from.cq_mod_caps.max_cq_period;
    attr.PciFetchAndAdd = from.pci_atomic_caps.fetch_add;
    attr.PciSwap = from.pci_atomic_caps.swap;
    attr.PciCompareAndSwap = from.pci_atomic_caps.compare_swap;
    return attr;
}

} // namespace

int verbs_query::port(UCHAR number, port_attributes& made) const {
    ibv_port_attr attr{};
    if (const int error = failure_of(verbs_.query_port(context_, number, &attr)); error != 0)
        return error;
    made.fixed = attributes_of(attr, context_->device);
    made.fixed.PortNumber = number;
    made.gids.resize(std::min(limit(attr.gid_tbl_len), 0xFFFFu));
    made.pkeys.resize(attr.pkey_tbl_len);
    made.fixed.GidCount = static_cast<USHORT>(made.gids.size());
    made.fixed.PKeyCount = static_cast<USHORT>(made.pkeys.size());
    ibv_gid own{};
    if (made.gids.empty()) return 0;
    const int error = failure_of(verbs_.query_gid(context_, number, 0, &own));
    made.fixed.PortGuid = host_order(own).gid_guid;
    return error;
}

int verbs_query::tables(UCHAR port_count, port_attributes& made) const {
    const int error = gids(port_count, made);
    return error != 0 ? error : pkeys(made);
}

// Empty entries stay 0, so the entries behind them keep their index.
int verbs_query::gids(UCHAR port_count, port_attributes& made) const {
    std::vector<ibv_gid_entry> entries(made.gids.size() * port_count);
    if (entries.empty()) return 0;
    const ssize_t count = verbs_.query_gid_table(context_, entries.data(), entries.size());
    if (count < 0) return failure_of(count);
    entries.resize(std::min(entries.size(), static_cast<std::size_t>(count)));
    for (const ibv_gid_entry& each : entries)
        if (each.port_num == made.fixed.PortNumber && each.gid_index < made.gids.size())
            made.gids[each.gid_index] = host_order(each.gid);
    return 0;
}

int verbs_query::pkeys(port_attributes& made) const {
    for (std::size_t i = 0; i < made.pkeys.size(); ++i) {
        __be16 pkey = 0;
        const int error = failure_of(
            verbs_.query_pkey(context_, made.fixed.PortNumber, static_cast<int>(i), &pkey));
        if (error == ENOENT || error == EOPNOTSUPP) return 0; // iWARP has no P_Keys
        if (error != 0) return error;
        made.pkeys[i] = be16toh(pkey);
    }
    return 0;
}

int verbs_query::device(IB_CA_ATTR& made) const {
    ibv_device_attr_ex attr{};
    if (const int error = failure_of(verbs_.query_device(context_, &attr)); error != 0)
        return error;
    fill_identity(made, attr.orig_attr);
    fill_limits(made, attr.orig_attr);
    made.Extended = extended(attr);
    made.MaxCompletionHandlers = limit(context_->num_comp_vectors);
    static_assert(int{IB_TRANSPORT_IWARP} == int{IBV_TRANSPORT_IWARP});
    made.Transport = static_cast<ULONG>(context_->device->transport_type);
    made.PortCount =
        attr.phys_port_cnt_ex != 0 ? attr.phys_port_cnt_ex : attr.orig_attr.phys_port_cnt;
    return remove_missing_capabilities(made);
}

// The kernel refuses alternate paths of Ethernet, also of devices that name the capability.
int verbs_query::remove_missing_capabilities(IB_CA_ATTR& from) const {
    if ((from.Capabilities & IB_CA_CAP_AUTO_PATH_MIGRATION) == 0) return 0;
    ibv_port_attr port{};
    const int error = failure_of(verbs_.query_port(context_, 1, &port));
    if (error == 0 && link_layer_of(port, context_->device) != IBV_LINK_LAYER_INFINIBAND)
        from.Capabilities &= ~IB_CA_CAP_AUTO_PATH_MIGRATION;
    return error;
}

} // namespace irpverbs::hca_rdma
