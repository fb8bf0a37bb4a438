#include "attributes.hpp"

#include "sysfs_text.hpp"

#include <algorithm>
#include <endian.h>
#include <string_view>

namespace irpverbs::hca_rdma {

std::string folder_of(const std::string& ca_name) {
    return std::string(SYS_INFINIBAND) + '/' + ca_name + '/';
}

namespace {

std::string folder_of_port(const umad_port_t& port) {
    return folder_of(port.ca_name) + SYS_CA_PORTS_DIR + '/' + std::to_string(port.portnum) + '/';
}

std::vector<ib_gid_t> gids_of(const os_interface& os, const umad_port_t& port) {
    std::vector<ib_gid_t> table;
    const std::string folder = folder_of_port(port) + "gids/";
    std::string text;
    while (table.size() < UINT16_MAX && os.read_file(folder + std::to_string(table.size()), text))
        table.push_back(gid(text));
    return table;
}

} // namespace

bool is_rnic(const os_interface& os, const std::string& ca_name) {
    std::string text;
    return os.read_file(folder_of(ca_name) + SYS_NODE_TYPE, text) && text.starts_with("4:");
}

void read_description(const os_interface& os, const std::string& ca_name, IB_CA_ATTR& attr) {
    std::string text;
    if (os.read_file(folder_of(ca_name) + "node_desc", text))
        std::copy_n(text.begin(), std::min<std::size_t>(text.size(), IB_NODE_DESCRIPTION_SIZE),
                    attr.NodeDescription);
}

bool is_infiniband(const umad_port_t& port) {
    const std::string_view layer = port.link_layer;
    return layer == "InfiniBand" || layer == "IB";
}

std::vector<ib_pkey_t> pkeys_of(const umad_port_t& port) {
    return {port.pkeys, port.pkeys + port.pkeys_size};
}

port_attributes attributes_of(const os_interface& os, const umad_port_t& port) {
    port_attributes made;
    made.gids = gids_of(os, port);
    made.pkeys = pkeys_of(port);
    IB_PORT_ATTR& attr = made.fixed;
    attr.PortNumber = static_cast<UCHAR>(port.portnum);
    attr.State = static_cast<UCHAR>(port.state);
    attr.PhysicalState = static_cast<UCHAR>(port.phys_state);
    attr.Lmc = static_cast<UCHAR>(port.lmc);
    attr.PortGuid = be64toh(port.port_guid);
    attr.Lid = static_cast<ib_lid_t>(port.base_lid);
    attr.SmLid = static_cast<ib_lid_t>(port.sm_lid);
    attr.SmSl = static_cast<UCHAR>(port.sm_sl);
    attr.CapabilityMask = be32toh(port.capmask);
    attr.LinkLayer = is_infiniband(port) ? IB_LINK_LAYER_INFINIBAND : IB_LINK_LAYER_ETHERNET;
    attr.GidCount = static_cast<USHORT>(made.gids.size());
    attr.PKeyCount = static_cast<USHORT>(made.pkeys.size());
    if (std::string text; os.read_file(folder_of_port(port) + SYS_PORT_RATE, text)) {
        const link_rate now = rate(text);
        attr.ActiveWidth = now.width;
        attr.ActiveSpeed = now.speed;
    }
    return made;
}

IB_CA_ATTR attributes_of(const umad_ca_t& ca) {
    IB_CA_ATTR attr{};
    attr.HardwareVersion = hexadecimal(ca.hw_ver);
    attr.NodeGuid = be64toh(ca.node_guid);
    attr.SystemImageGuid = be64toh(ca.system_guid);
    attr.FirmwareVersion = firmware_version(ca.fw_ver);
    if (ca.ports[1] != nullptr) attr.MaxPKeys = static_cast<USHORT>(ca.ports[1]->pkeys_size);
    attr.PortCount = static_cast<ULONG>(ca.numports);
    return attr;
}

} // namespace irpverbs::hca_rdma
