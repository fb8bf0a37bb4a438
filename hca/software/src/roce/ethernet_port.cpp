#include "ethernet_port.hpp"

#include "../fabric.hpp"
#include "../qp_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

namespace irpverbs::hca_software::roce {

namespace {

constexpr UCHAR datagram_opcode = 0x64; // UD, SEND only

/// A packet that has arrived at a queue pair, or at an agent.
void read_datagram(const transport::packet& what, datagram& into) {
    const const_bytes content =
        what.content.pieces().empty() ? const_bytes{} : what.content.pieces().front();
    into.from_qp = what.datagram.from_qp;
    into.qkey = what.datagram.qkey;
    if (content.size() == IB_MAD_SIZE)
        std::ranges::copy(content, into.mad.begin());
    else
        into.payload = std::make_shared<const std::vector<UCHAR>>(content.begin(), content.end());
}

void read_packet(const transport::packet& what, const_bytes bytes, datagram& into) {
    into.payload = std::make_shared<const std::vector<UCHAR>>(bytes.begin(), bytes.end());
    into.transport_headers = static_cast<USHORT>(bytes.size() - what.content.size());
    if (!what.row().has(transport::has_datagram)) return;
    into.from_qp = what.datagram.from_qp;
    into.qkey = what.datagram.qkey;
}

enum class reading { good, damaged, foreign };

// Numbers below those of queue pairs are agents', which receive datagrams. There is no QP0.
// Source: IBA A17.2.
reading read_arrival(arrival& from, datagram& into) {
    if (!has_right_crc(from.route, from.payload)) return reading::damaged;
    const const_bytes bytes = from.payload.first(from.payload.size() - ci::invariant_crc_size);
    const auto what = transport::parse_transport(bytes);
    if (!what || what->to_qp == 0) return reading::foreign;
    into.pkey = what->pkey;
    into.to_qp = what->to_qp;
    if (ci::is_group(from.route.global.to)) into.to = group_lid;
    into.global = true;
    into.route = from.route.global;
    into.from_udp_port = from.route.from_port;
    into.identification = from.route.identification;
    const bool is_of_agent = what->to_qp < first_qp_number;
    if (is_of_agent && what->row().what != transport::operation::send) return reading::foreign;
    if (is_of_agent && !what->row().has(transport::has_datagram)) return reading::foreign;
    if (is_of_agent)
        read_datagram(*what, into);
    else
        read_packet(*what, bytes, into);
    return reading::good;
}

// A router on the way was congested. Source: RFC 3168 5.
bool is_marked(const ip_route& route) { return (route.global.traffic_class & 3) == 3; }

void set_attributes(port& at, const interface& of) {
    at.guid = of.guid;
    at.pkeys = {IB_PKEY_DEFAULT_FULL};
    at.gids.clear();
    at.capabilities = IB_PORT_CAP_CM_SUP;
    at.subnet_timeout = 0;
    at.vls = 1;
    at.mtu = path_mtu_of(of.mtu);
    at.width = at.active_width = at.enabled_widths = IB_LINK_WIDTH_1X;
    at.speed = at.active_speed = at.enabled_speeds = IB_LINK_SPEED_SDR;
    at.state = of.is_up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
    at.physical = of.is_up ? IB_PORT_PHYS_LINK_UP : IB_PORT_PHYS_DISABLED;
}

} // namespace

NTSTATUS ethernet_port::open(std::unique_ptr<wire> by, interface on, std::string& problem) {
    set_attributes(port_, on);
    if (port_.mtu == 0) {
        problem = on.name + ": its MTU is too small for packets of 256 bytes";
        return STATUS_NOT_SUPPORTED;
    }
    if (on.gids.empty()) {
        problem = on.name + ": it has no IP address";
        return STATUS_NO_SUCH_DEVICE;
    }
    on.gids.resize(std::min<std::size_t>(on.gids.size(), port::max_gids));
    port_.gids = on.gids;
    wire_ = std::move(by);
    return wire_->open(on, problem);
}

NTSTATUS ethernet_port::start(std::string& problem) {
    if (wire_->start()) return STATUS_SUCCESS;
    problem = "a simulated machine has no sockets";
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS ethernet_port::join(const ib_gid_t& group) {
    const bool has_address = std::ranges::any_of(
        port_.gids, [&](const ib_gid_t& each) { return is_ipv4(each) == is_ipv4(group); });
    return has_address ? wire_->join(group) : STATUS_NOT_SUPPORTED;
}

void ethernet_port::close() {
    if (wire_ != nullptr) wire_->close();
}

USHORT ethernet_port::source_port(const ib_gid_t& from) const { return wire_->source_port(from); }

bool ethernet_port::send(const global_route& route, std::span<UCHAR> payload) const {
    write_invariant_crc({route, wire_->source_port(route.from)}, payload);
    const int error = wire_->send(route, payload);
    return error != EAGAIN && error != ENOBUFS;
}

void ethernet_port::send(const datagram& what) const {
    transport::packet made;
    made.opcode = datagram_opcode;
    made.pkey = what.pkey;
    made.to_qp = what.to_qp;
    made.datagram = {what.qkey, what.from_qp};
    made.content.append(what.payload != nullptr ? const_bytes(*what.payload)
                                                : const_bytes(what.mad));
    std::array<UCHAR, max_udp_payload> bytes;
    const std::size_t size = transport::write_transport(made, bytes);
    send(what.route, std::span(bytes).first(size + ci::invariant_crc_size));
}

// A packet for which there is no memory is lost.
void ethernet_port::receive(std::span<arrival> packets) {
    std::array<datagram, most_arrivals> read;
    std::size_t good = 0;
    ULONG damaged = 0;
    ULONG marked = 0;
    for (arrival& each : packets)
        try {
            read[good] = {};
            const reading result = read_arrival(each, read[good]);
            good += result == reading::good ? 1 : 0;
            damaged += result == reading::damaged ? 1 : 0;
            marked += result == reading::good && is_marked(each.route) ? 1 : 0;
        } catch (const std::bad_alloc&) {
            continue;
        }
    fabric_.change([&] {
        port_.counters.ReceiveErrors += damaged;
        port_.counters.EcnMarks += marked;
        for (datagram& each : std::span(read).first(good))
            fabric_.arrive_from_ethernet(port_, std::move(each));
        return true;
    });
}

} // namespace irpverbs::hca_software::roce
