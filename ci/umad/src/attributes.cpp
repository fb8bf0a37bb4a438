#include "attributes.hpp"

#include <ci/ci.h>
#include <drop_in/open_hca.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <endian.h>
#include <utility>

namespace irpverbs::umad {

namespace {

enum class suitability { none, enabled, linked, active };

suitability suitability_of(const umad_port_t& port) {
    if (port.state == IB_PORT_ACTIVE) return suitability::active;
    if (port.phys_state == IB_PORT_PHYS_LINK_UP) return suitability::linked;
    return port.phys_state != IB_PORT_PHYS_DISABLED ? suitability::enabled : suitability::none;
}

/// The attributes of a device, freed at the end.
struct ca_attributes {
    umad_ca_t ca{};
    explicit ca_attributes(const drop_in::device& which) { read_ca(which, ca); }
    ~ca_attributes() { free_ca(ca); }
    ca_attributes(const ca_attributes&) = delete;
    ca_attributes& operator=(const ca_attributes&) = delete;
};

/// Finds the best port of the device, or rates the wanted one. 0: it has none.
std::pair<suitability, int> best_port(const drop_in::device& which, int wanted) {
    const ca_attributes of(which);
    std::pair<suitability, int> best{suitability::none, 0};
    for (int number = 1; number <= of.ca.numports; ++number) {
        const umad_port_t* const port = of.ca.ports[number];
        if (port == nullptr || (wanted != 0 && wanted != number)) continue;
        const suitability rating = suitability_of(*port);
        if (rating > best.first) best = {rating, number};
        if (wanted != 0 && best.second == 0) best.second = number; // disabled, but named
    }
    return best;
}

void copy_port(const char* name, const IB_PORT_ATTR& from, umad_port_t& to) {
    std::snprintf(to.ca_name, sizeof to.ca_name, "%s", name);
    to.portnum = from.PortNumber;
    to.base_lid = from.Lid;
    to.lmc = from.Lmc;
    to.sm_lid = from.SmLid;
    to.sm_sl = from.SmSl;
    to.state = from.State;
    to.phys_state = from.PhysicalState;
    to.rate = rate_of(from.ActiveWidth, from.ActiveSpeed);
    to.capmask = htobe32(from.CapabilityMask);
    if (from.GidCount != 0) to.gid_prefix = htobe64(IbPortGid(&from, 0)->gid_prefix);
    to.port_guid = htobe64(from.PortGuid);
    std::snprintf(to.link_layer, sizeof to.link_layer, "%s",
                  from.LinkLayer == IB_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
}

int add_port(umad_ca_t& ca, const IB_PORT_ATTR& from) {
    auto* const port = static_cast<umad_port_t*>(std::calloc(1, sizeof(umad_port_t)));
    if (port == nullptr) return ENOMEM;
    ca.ports[from.PortNumber] = port;
    copy_port(ca.ca_name, from, *port);
    port->pkeys =
        static_cast<std::uint16_t*>(std::calloc(from.PKeyCount + 1u, sizeof(std::uint16_t)));
    if (port->pkeys == nullptr) return ENOMEM;
    port->pkeys_size = from.PKeyCount;
    for (ULONG i = 0; i < from.PKeyCount; ++i)
        port->pkeys[i] = IbPortPKey(&from, i);
    return 0;
}

} // namespace

unsigned rate_of(unsigned width, unsigned speed) {
    struct lane {
        unsigned speed;
        unsigned tenths;
    };
    constexpr std::array<lane, 8> lanes{{{IB_LINK_SPEED_SDR, 25},
                                         {IB_LINK_SPEED_DDR, 50},
                                         {IB_LINK_SPEED_QDR, 100},
                                         {IB_LINK_SPEED_FDR10, 100},
                                         {IB_LINK_SPEED_FDR, 140},
                                         {IB_LINK_SPEED_EDR, 250},
                                         {IB_LINK_SPEED_HDR, 500},
                                         {IB_LINK_SPEED_NDR, 1000}}};
    unsigned tenths = lanes[0].tenths;
    for (const lane& each : lanes)
        if (each.speed == speed) tenths = each.tenths;
    unsigned count = 1;
    if (width == IB_LINK_WIDTH_2X) count = 2;
    if (width == IB_LINK_WIDTH_4X) count = 4;
    if (width == IB_LINK_WIDTH_8X) count = 8;
    if (width == IB_LINK_WIDTH_12X) count = 12;
    return tenths * count / 10;
}

int read_ca(const drop_in::device& which, umad_ca_t& ca) {
    const std::vector<UCHAR> block = drop_in::attributes_of(which);
    const auto& attr = *reinterpret_cast<const IB_CA_ATTR*>(block.data());
    std::memset(&ca, 0, sizeof ca);
    std::snprintf(ca.ca_name, sizeof ca.ca_name, "%s", which.name.c_str());
    ca.node_type = IB_NODE_CA;
    std::snprintf(ca.fw_ver, sizeof ca.fw_ver, "%u.%u.%u",
                  static_cast<unsigned>(attr.FirmwareVersion >> 32),
                  static_cast<unsigned>(attr.FirmwareVersion >> 16 & 0xFFFF),
                  static_cast<unsigned>(attr.FirmwareVersion & 0xFFFF));
    std::snprintf(ca.ca_type, sizeof ca.ca_type, "irpverbs");
    std::snprintf(ca.hw_ver, sizeof ca.hw_ver, "0x%x", attr.HardwareVersion);
    ca.node_guid = htobe64(attr.NodeGuid);
    ca.system_guid = htobe64(attr.SystemImageGuid);
    int error = 0;
    for (ULONG number = 1; number <= attr.PortCount && number < UMAD_CA_MAX_PORTS; ++number) {
        ca.numports = static_cast<int>(number);
        if (error == 0) error = add_port(ca, *IbCaPort(&attr, number));
    }
    if (error != 0) free_ca(ca);
    return error;
}

void free_ca(umad_ca_t& ca) {
    for (umad_port_t*& port : ca.ports) {
        if (port != nullptr) std::free(port->pkeys);
        std::free(std::exchange(port, nullptr));
    }
}

int choose_port(const char* name, int port, port_choice& chosen) {
    const std::span<const drop_in::device> all = drop_in::devices();
    suitability best = suitability::none;
    chosen = {};
    for (const drop_in::device& each : all) {
        if (name != nullptr && each.name != name) continue;
        const auto [rating, number] = best_port(each, port);
        if (number == 0 || (chosen.device != nullptr && rating <= best)) continue;
        chosen = {&each, number};
        best = rating;
    }
    if (chosen.device != nullptr) return 0;
    return name != nullptr && port != 0 && !all.empty() ? EINVAL : ENODEV;
}

const drop_in::device* choose_device(const char* name) {
    if (name != nullptr) return drop_in::find_device(name);
    port_choice chosen;
    choose_port(nullptr, 0, chosen);
    return chosen.device;
}

} // namespace irpverbs::umad
