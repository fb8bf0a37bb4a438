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

NTSTATUS explain(std::string& problem, const ib_gid_t& gid, int error) {
    problem = text_of(gid) + ", UDP port 4791: ";
    if (error == EADDRINUSE)
        problem += "in use, by another program or by the kernel's soft-RoCE (module rdma_rxe); "
                   "?raw behind the name shares it";
    else if (error == EPERM)
        problem += "?raw needs root, or CAP_NET_RAW";
    else
        problem += std::strerror(error);
    if (error == EADDRINUSE) return STATUS_SHARING_VIOLATION;
    if (error == EACCES || error == EPERM) return STATUS_ACCESS_DENIED;
    return error == EADDRNOTAVAIL ? STATUS_NO_SUCH_DEVICE : STATUS_INSUFFICIENT_RESOURCES;
}

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
reading read_arrival(udp_socket::arrival& from, datagram& into) {
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

NTSTATUS ethernet_port::open(const interface& on, std::string& problem) {
    set_attributes(port_, on);
    if (port_.mtu == 0) {
        problem = on.name + ": its MTU is too small for packets of 256 bytes";
        return STATUS_NOT_SUPPORTED;
    }
    interface_ = on.index;
    for (const ib_gid_t& each : on.gids) {
        if (port_.gids.size() == port::max_gids) break;
        const NTSTATUS status = add_socket(each, problem);
        if (!NT_SUCCESS(status)) return status;
        port_.gids.push_back(each);
    }
    if (port_.gids.empty()) {
        problem = on.name + ": it has no IP address";
        return STATUS_NO_SUCH_DEVICE;
    }
    return STATUS_SUCCESS;
}

NTSTATUS ethernet_port::start(std::string& problem) {
    if (std::ranges::all_of(endpoints_, &endpoint::start)) return STATUS_SUCCESS;
    problem = "a simulated machine has no sockets";
    return STATUS_NOT_SUPPORTED;
}

NTSTATUS ethernet_port::add_socket(const ib_gid_t& gid, std::string& problem) {
    const int error = endpoints_.emplace_back(*this, how_).socket.open(gid, interface_);
    return error == 0 ? STATUS_SUCCESS : explain(problem, gid, error);
}

NTSTATUS ethernet_port::join(const ib_gid_t& group) {
    const bool has_address = std::ranges::any_of(
        port_.gids, [&](const ib_gid_t& each) { return is_ipv4(each) == is_ipv4(group); });
    return has_address ? groups_.join(group, interface_) : STATUS_NOT_SUPPORTED;
}

void ethernet_port::close() {
    for (endpoint& each : endpoints_)
        each.watch.reset();
}

const udp_socket* ethernet_port::find(const ib_gid_t& local) const {
    const auto found = std::ranges::find_if(
        endpoints_, [&](const endpoint& each) { return each.socket.local() == local; });
    return found != endpoints_.end() ? &found->socket : nullptr;
}

USHORT ethernet_port::source_port(const ib_gid_t& from) const {
    const udp_socket* const by = find(from);
    return by != nullptr ? by->port() : udp_port;
}

bool ethernet_port::send(const global_route& route, std::span<UCHAR> payload) const {
    const udp_socket* const by = find(route.from);
    if (by == nullptr) return true;
    write_invariant_crc({route, by->port()}, payload);
    const int error = by->send(route, payload);
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
void ethernet_port::receive(udp_socket& from) {
    std::array<udp_socket::arrival, udp_socket::most_arrivals> arrived;
    std::array<datagram, udp_socket::most_arrivals> read;
    const std::size_t count = from.receive(arrived.data());
    std::size_t good = 0;
    ULONG damaged = 0;
    for (std::size_t i = 0; i < count; ++i)
        try {
            read[good] = {};
            const reading result = read_arrival(arrived[i], read[good]);
            good += result == reading::good ? 1 : 0;
            damaged += result == reading::damaged ? 1 : 0;
        } catch (const std::bad_alloc&) {
            continue;
        }
    fabric_.change([&] {
        port_.counters.ReceiveErrors += damaged;
        for (datagram& each : std::span(read).first(good))
            fabric_.arrive_from_ethernet(port_, std::move(each));
        return true;
    });
}

} // namespace irpverbs::hca_software::roce
