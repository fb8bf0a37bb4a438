// Queries of devices, ports and their tables.
#include "attributes.hpp"

#include "device_memory.hpp"
#include "open_device.hpp"
#include "verb_call.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <endian.h>
#include <memory>
#include <new>
#include <vector>

namespace irpverbs::verbs {

namespace {

// A limit that int cannot hold is the greatest int.
int limit(ULONG value) { return static_cast<int>(std::min<ULONG>(value, INT_MAX)); }

// Source: IBA 14.2.5.6 (VLCap).
std::uint8_t lane_code(UCHAR lanes) {
    constexpr std::array<UCHAR, 5> most{1, 2, 4, 8, 15};
    const auto* at = std::find(most.begin(), most.end(), lanes);
    return at == most.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(at - most.begin() + 1);
}

// The bits of PortInfo's LinkSpeed, and above them those of its LinkSpeedExt.
std::uint8_t speed_code(USHORT speed) {
    return static_cast<std::uint8_t>((speed & 0x0F) | (speed >> 8) << 4);
}

/// The attributes of a port, with its tables.
class port_block {
public:
    /// Returns an errno value.
    int read(const open_device& from, std::uint32_t number) {
        if (number == 0 || number > from.limits().PortCount) return invalid_arguments.error();
        ULONG size = sizeof(IB_PORT_ATTR) + 16 * sizeof(ib_gid_t) + 128 * sizeof(ib_pkey_t);
        for (;;) {
            bytes_.reset(new (std::nothrow) UCHAR[size]);
            if (bytes_ == nullptr) return ENOMEM;
            const outcome seen =
                call(CiQueryPort, from.ca(), static_cast<UCHAR>(number), SIZE_T{size}, attr());
            if (seen.status != STATUS_BUFFER_OVERFLOW) return seen.error();
            size = attr()->Size; // the tables have grown
        }
    }
    const IB_PORT_ATTR* operator->() const { return attr(); }
    /// Ports on Ethernet have RoCE version 2.
    bool is_on_ethernet() const { return attr()->LinkLayer == IBV_LINK_LAYER_ETHERNET; }
    ibv_gid gid(std::uint32_t index) const {
        const ib_gid_t* gid = IbPortGid(attr(), index);
        ibv_gid made;
        made.global.subnet_prefix = htobe64(gid->gid_prefix);
        made.global.interface_id = htobe64(gid->gid_guid);
        return made;
    }
    ib_pkey_t pkey(std::uint32_t index) const { return IbPortPKey(attr(), index); }

private:
    IB_PORT_ATTR* attr() const { return reinterpret_cast<IB_PORT_ATTR*>(bytes_.get()); }

    std::unique_ptr<UCHAR[]> bytes_;
};

ibv_port_attr as_libibverbs(const port_block& from) {
    ibv_port_attr made{};
    made.state = static_cast<ibv_port_state>(from->State);
    made.max_mtu = static_cast<ibv_mtu>(from->MaxMtu);
    made.active_mtu = static_cast<ibv_mtu>(from->ActiveMtu);
    made.gid_tbl_len = from->GidCount;
    made.port_cap_flags = from->CapabilityMask;
    made.max_msg_sz = from->MaxMessageSize;
    made.bad_pkey_cntr = from->PKeyViolations;
    made.qkey_viol_cntr = from->QKeyViolations;
    made.pkey_tbl_len = from->PKeyCount;
    made.lid = from->Lid;
    made.sm_lid = from->SmLid;
    made.lmc = from->Lmc;
    made.max_vl_num = lane_code(from->MaxVls);
    made.sm_sl = from->SmSl;
    made.subnet_timeout = from->SubnetTimeout;
    made.init_type_reply = from->InitTypeReply;
    made.active_width = static_cast<std::uint8_t>(from->ActiveWidth);
    made.active_speed = speed_code(from->ActiveSpeed);
    made.phys_state = from->PhysicalState;
    made.link_layer = from->LinkLayer;
    made.flags = (from->Flags & IB_PORT_GRH_REQUIRED) != 0 ? IBV_QPF_GRH_REQUIRED : 0;
    made.port_cap_flags2 = static_cast<std::uint16_t>(from->CapabilityMask2);
    return made;
}

// A program that was compiled with an earlier header has a shorter structure.
template <class Structure>
void copy_known_part(const Structure& from, void* to, std::size_t size) {
    std::memset(to, 0, size);
    std::memcpy(to, &from, std::min(size, sizeof(from)));
}

unsigned flags_of(ULONG capabilities) {
    struct moved {
        ULONG from;
        unsigned to;
    };
    constexpr std::array others{
        moved{IB_CA_CAP_MEMORY_WINDOWS, IBV_DEVICE_MEM_WINDOW},
        moved{IB_CA_CAP_MEMORY_WINDOWS_2A, IBV_DEVICE_MEM_WINDOW_TYPE_2A},
        moved{IB_CA_CAP_MEMORY_WINDOWS_2B, IBV_DEVICE_MEM_WINDOW_TYPE_2B},
        moved{IB_CA_CAP_FAST_REGISTER, IBV_DEVICE_MEM_MGT_EXTENSIONS},
        moved{IB_CA_CAP_XRC, IBV_DEVICE_XRC},
    };
    constexpr ULONG same = 0x7FFF; // bits with the same position in IBV_DEVICE_*
    unsigned flags = capabilities & same;
    for (const moved& each : others)
        if ((capabilities & each.from) != 0) flags |= each.to;
    return flags;
}

void fill_identity(ibv_device_attr& made, const IB_CA_ATTR& from) {
    const ULONGLONG version = from.FirmwareVersion;
    std::snprintf(
        made.fw_ver, sizeof(made.fw_ver), "%u.%u.%u", static_cast<unsigned>(version >> 32),
        static_cast<unsigned>(version >> 16 & 0xFFFF), static_cast<unsigned>(version & 0xFFFF));
    made.node_guid = htobe64(from.NodeGuid);
    made.sys_image_guid = htobe64(from.SystemImageGuid);
    made.vendor_id = from.VendorId;
    made.vendor_part_id = from.VendorPartId;
    made.hw_ver = from.HardwareVersion;
    made.device_cap_flags = flags_of(from.Capabilities);
    made.page_size_cap = from.PageSizes;
    made.atomic_cap = static_cast<ibv_atomic_cap>(from.Atomicity);
    made.max_pkeys = from.MaxPKeys;
    made.local_ca_ack_delay = from.LocalAckDelay;
    made.phys_port_cnt = static_cast<std::uint8_t>(std::min<ULONG>(from.PortCount, UINT8_MAX));
}

void fill_limits(ibv_device_attr& made, const IB_CA_ATTR& from) {
    made.max_mr_size = from.MaxMrSize;
    made.max_qp = limit(from.MaxQps);
    made.max_qp_wr = limit(from.MaxQpWrs);
    made.max_sge = limit(from.MaxSges);
    made.max_sge_rd = limit(from.MaxSgesOfRead);
    made.max_cq = limit(from.MaxCqs);
    made.max_cqe = limit(from.MaxCqes);
    made.max_mr = limit(from.MaxMrs);
    made.max_pd = limit(from.MaxPds);
    made.max_qp_rd_atom = limit(from.MaxReadsAsResponderOfQp);
    made.max_ee_rd_atom = limit(from.MaxReadsAsResponderOfEec);
    made.max_res_rd_atom = limit(from.MaxReadsAsResponder);
    made.max_qp_init_rd_atom = limit(from.MaxReadsAsInitiatorOfQp);
    made.max_ee_init_rd_atom = limit(from.MaxReadsAsInitiatorOfEec);
    made.max_ee = limit(from.MaxEecs);
    made.max_rdd = limit(from.MaxRdds);
    made.max_mw = limit(from.MaxMws);
    made.max_raw_ipv6_qp = limit(from.MaxRawIpv6Qps);
    made.max_raw_ethy_qp = limit(from.MaxRawEthertypeQps);
    made.max_mcast_grp = limit(from.MaxMulticastGroups);
    made.max_mcast_qp_attach = limit(from.MaxQpsOfMulticastGroup);
    made.max_total_mcast_qp_attach = limit(from.MaxMulticastAttachments);
    made.max_ah = limit(from.MaxAvs);
    made.max_fmr = limit(from.MaxFmrs);
    made.max_map_per_fmr = limit(from.MaxMapsOfFmr);
    made.max_srq = limit(from.MaxSrqs);
    made.max_srq_wr = limit(from.MaxSrqWrs);
    made.max_srq_sge = limit(from.MaxSrqSges);
}

void fill_extensions(ibv_device_attr_ex& made, const IB_CA_ATTR& from) {
    const IB_CA_EXTENDED_ATTR& more = from.Extended;
    made.odp_caps.general_caps = more.OnDemandPaging;
    if (more.OnDemandPaging != 0) made.odp_caps.general_caps |= IBV_ODP_SUPPORT_IMPLICIT;
    made.odp_caps.per_transport_caps = {more.OnDemandRc, more.OnDemandUc, more.OnDemandUd};
    made.xrc_odp_caps = more.OnDemandXrc;
    made.completion_timestamp_mask = more.TimestampMask;
    made.hca_core_clock = more.TimestampFrequency;
    made.device_cap_flags_ex = more.Flags | made.orig_attr.device_cap_flags;
    made.max_dm_size = most_device_memory;
    made.pci_atomic_caps = {more.PciFetchAndAdd, more.PciSwap, more.PciCompareAndSwap};
    made.phys_port_cnt_ex = from.PortCount;
}

// Returns an errno value.
int query(open_device& of, ibv_device_attr_ex& made) {
    IB_CA_ATTR seen = of.limits(); // as seen by the parent, in the child of a fork
    if (!drop_in::is_forked_child()) {
        const outcome done = call(CiQueryCa, of.ca(), sizeof(seen), &seen);
        if (!done && done.status != STATUS_BUFFER_OVERFLOW) return done.error();
    }
    fill_identity(made.orig_attr, seen);
    fill_limits(made.orig_attr, seen);
    fill_extensions(made, seen);
    return 0;
}

// The functions that return -1 and set errno.
int result(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

ibv_gid_entry entry_of(const port_block& port, std::uint32_t number, std::uint32_t index) {
    ibv_gid_entry made{};
    made.gid = port.gid(index);
    made.gid_index = index;
    made.port_num = number;
    made.gid_type = port.is_on_ethernet() ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
    return made;
}

bool is_empty(const ibv_gid& gid) { return gid.global.interface_id == 0; }

} // namespace

int query_port(ibv_context* of, std::uint8_t number, ibv_port_attr* attr, std::size_t size) {
    port_block port;
    if (const int error = port.read(open_device::of(of), number); error != 0) return error;
    copy_known_part(as_libibverbs(port), attr, size);
    return 0;
}

int query_device_ex(ibv_context* of, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t size) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    if (size < offsetof(ibv_device_attr_ex, comp_mask) + sizeof(attr->comp_mask)) return EINVAL;
    ibv_device_attr_ex made{};
    if (const int error = query(open_device::of(of), made); error != 0) return error;
    copy_known_part(made, attr, size);
    return 0;
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

int irpverbs_ibv_query_device(ibv_context* of, ibv_device_attr* attr) {
    ibv_device_attr_ex made{};
    const int error = query(open_device::of(of), made);
    if (error == 0) *attr = made.orig_attr;
    return error;
}

// Programs that were compiled before port_cap_flags2 existed call this function.
int irpverbs_ibv_query_port(ibv_context* of, std::uint8_t number, _compat_ibv_port_attr* attr) {
    return query_port(of, number, reinterpret_cast<ibv_port_attr*>(attr),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

int irpverbs_ibv_query_gid(ibv_context* of, std::uint8_t number, int index, ibv_gid* gid) {
    port_block port;
    int error = port.read(open_device::of(of), number);
    if (error == 0 && (index < 0 || index >= port->GidCount)) error = EINVAL;
    if (error == 0) *gid = port.gid(static_cast<std::uint32_t>(index));
    return result(error);
}

int irpverbs_ibv_query_pkey(ibv_context* of, std::uint8_t number, int index, __be16* pkey) {
    port_block port;
    int error = port.read(open_device::of(of), number);
    if (error == 0 && (index < 0 || index >= port->PKeyCount)) error = EINVAL;
    if (error == 0) *pkey = htobe16(port.pkey(static_cast<std::uint32_t>(index)));
    return result(error);
}

int irpverbs_ibv_get_pkey_index(ibv_context* of, std::uint8_t number, __be16 pkey) {
    port_block port;
    if (const int error = port.read(open_device::of(of), number); error != 0) return result(error);
    for (int i = 0; i < port->PKeyCount; ++i)
        if (htobe16(port.pkey(static_cast<std::uint32_t>(i))) == pkey) return i;
    return result(EINVAL);
}

int irpverbs__ibv_query_gid_ex(ibv_context* of, std::uint32_t number, std::uint32_t index,
                               ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
    if (flags != 0) return EOPNOTSUPP;
    port_block port;
    if (const int error = port.read(open_device::of(of), number); error != 0) return error;
    if (index >= port->GidCount) return ENODATA;
    const ibv_gid_entry made = entry_of(port, number, index);
    if (is_empty(made.gid)) return ENODATA;
    copy_known_part(made, entry, size);
    return 0;
}

// Writes the entries of all ports that are not empty, and returns their number.
ssize_t irpverbs__ibv_query_gid_table(ibv_context* of, ibv_gid_entry* entries, std::size_t room,
                                      std::uint32_t flags, std::size_t size) {
    if (flags != 0) return -EOPNOTSUPP;
    if (size == 0) return -EINVAL;
    open_device& self = open_device::of(of);
    auto* next = reinterpret_cast<UCHAR*>(entries);
    std::size_t count = 0;
    for (std::uint32_t number = 1; number <= self.limits().PortCount; ++number) {
        port_block port;
        if (const int error = port.read(self, number); error != 0) return -error;
        for (std::uint32_t i = 0; i < port->GidCount; ++i) {
            const ibv_gid_entry made = entry_of(port, number, i);
            if (is_empty(made.gid)) continue;
            if (count == room) return -EINVAL;
            copy_known_part(made, next + count++ * size, size);
        }
    }
    return static_cast<ssize_t>(count);
}

// A private function, which ibv_devinfo calls.
int irpverbs_ibv_query_gid_type(ibv_context* of, std::uint8_t number, unsigned index,
                                unsigned* type) {
    port_block port;
    int error = port.read(open_device::of(of), number);
    if (error == 0 && index >= port->GidCount) error = EINVAL;
    // ibv_gid_type_sysfs: 0 is InfiniBand or RoCE version 1, 1 is RoCE version 2.
    if (error == 0) *type = port.is_on_ethernet() ? 1 : 0;
    return result(error);
}

} // extern "C"
