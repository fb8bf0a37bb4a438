#include "port_attributes.hpp"

#include "link.hpp"

#include <array>

namespace irpverbs::hca_software {

namespace {

constexpr ULONG max_message = 1u << 30;

// Source: IBA 14.2.5.6 (OperationalVLs).
constexpr std::array<UCHAR, 6> lanes_by_code{0, 1, 2, 4, 8, 15};

} // namespace

IB_PORT_ATTR attributes_of(const port& from) {
    const bool up = from.physical == IB_PORT_PHYS_LINK_UP;
    IB_PORT_ATTR attr{};
    attr.PortNumber = from.number;
    attr.State = static_cast<UCHAR>(from.state);
    attr.PhysicalState = static_cast<UCHAR>(from.physical);
    attr.Lmc = from.lmc;
    attr.PortGuid = from.guid;
    attr.Lid = from.lid;
    attr.SmLid = from.sm_lid;
    attr.SmSl = from.sm_sl;
    attr.SubnetTimeout = from.subnet_timeout;
    attr.MaxMtu = IB_MTU_4096;
    attr.ActiveMtu = from.mtu;
    attr.CapabilityMask = from.capabilities;
    attr.MaxMessageSize = max_message;
    attr.SupportedWidths = supported_widths(from);
    attr.EnabledWidths = from.enabled_widths;
    attr.ActiveWidth = up ? from.active_width : USHORT{IB_LINK_WIDTH_1X};
    attr.SupportedSpeeds = supported_speeds(from);
    attr.EnabledSpeeds = from.enabled_speeds;
    attr.ActiveSpeed = up ? from.active_speed : USHORT{IB_LINK_SPEED_SDR};
    attr.PKeyViolations = from.pkey_violations;
    attr.QKeyViolations = from.qkey_violations;
    attr.MKeyViolations = from.mkey.violations;
    attr.MaxVls = from.ethernet != nullptr ? 1 : 8;
    attr.OperationalVls = lanes_by_code[from.vls];
    attr.InitTypeReply = from.init_type_reply;
    attr.LinkLayer = from.ethernet != nullptr ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND;
    attr.GidCount = static_cast<USHORT>(from.gids.size());
    attr.PKeyCount = static_cast<USHORT>(from.pkeys.size());
    attr.Flags = IB_PORT_MAD_QPS;
    return attr;
}

HCA_PORT_TABLES tables_of(const port& from) { return {from.gids.data(), from.pkeys.data()}; }

std::size_t cached_attributes::refresh(fabric& where, const port& of, IB_PORT_ATTR* attr,
                                       SIZE_T size, IRP* irp) {
    return where.with_lock([&] {
        const IB_PORT_ATTR fixed = attributes_of(of);
        const HCA_PORT_TABLES tables = tables_of(of);
        block made;
        HcaCopyPortAttributes(&fixed, &tables, &made.attr, sizeof(made), irp);
        block_.write(&made, made.attr.Size, where.changes());
        return block_.read(where.changes(), attr, size);
    });
}

} // namespace irpverbs::hca_software
