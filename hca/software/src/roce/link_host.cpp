#include "link_host.hpp"

#include "arp.hpp"
#include "raw_reception.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace irpverbs::hca_software::roce {

namespace {

using dispatch::detail::spin_guard;

constexpr ib_gid_t unspecified{};
constexpr ib_gid_t unspecified_4{0, 0xFFFF00000000};
constexpr std::size_t source_offset = 6; // in the Ethernet header

ethernet_type type_of(const ib_gid_t& address) { return is_ipv4(address) ? type_ipv4 : type_ipv6; }

} // namespace

link_host::link_host(const hardware_address& hardware, std::vector<ib_gid_t> addresses,
                     const packet_descriptor& link, const packet_descriptor& loop)
    : hardware_(hardware), addresses_(std::move(addresses)), link_(link), loop_(loop) {
    const auto serve = [](KDPC*, void* context, void*, void*) {
        static_cast<link_host*>(context)->repeat_requests();
    };
    KeInitializeDpc(&dpc_, serve, this);
    KeInitializeTimer(&timer_);
}

link_host::~link_host() {
    {
        const spin_guard guard(lock_);
        is_closed_ = true;
    }
    KeCancelTimer(&timer_);
    KeFlushQueuedDpcs();
}

// ---- sending

int link_host::write(const packet_descriptor& to, const hardware_address& at, ethernet_type type,
                     std::span<UCHAR> header, const_bytes payload) const {
    std::ranges::copy(at, header.begin());
    std::ranges::copy(hardware_, &header[source_offset]);
    store<2>(&header[ethernet_type_offset], type);
    return to.write(header, payload);
}

int link_host::send(const global_route& way, const_bytes payload) {
    if (!has(way.from)) return EADDRNOTAVAIL;
    if (is_ipv4(way.from) != is_ipv4(way.to)) return EAFNOSUPPORT;
    headers bytes;
    const std::size_t ip = write_route({way}, payload.size(), &bytes[ethernet_header_size]);
    const std::span<UCHAR> used = std::span(bytes).first(ethernet_header_size + ip);
    const ethernet_type type = type_of(way.to);
    if (has(way.to)) return write(loop_, hardware_, type, used, payload);
    if (ci::is_group(way.to)) {
        const hardware_address at = hardware_of_group(way.to);
        if (is_member(way.to)) write(loop_, at, type, used, payload);
        return write(link_, at, type, used, payload);
    }
    try {
        const neighbors::resolution found =
            neighbors_.resolve(way.to, used.subspan(ethernet_header_size), payload);
        if (found.is_request_due) request(way.to, way.from);
        if (found.address) return write(link_, *found.address, type, used, payload);
        schedule_requests();
        return 0;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

void link_host::send_icmp(const global_route& way, const hardware_address& at,
                          const_bytes message) const {
    headers bytes;
    const UCHAR protocol = is_ipv4(way.from) ? protocol_icmp : protocol_icmpv6;
    const std::size_t ip = write_ip({way}, protocol, message.size(), &bytes[ethernet_header_size]);
    write(link_, at, type_of(way.to), std::span(bytes).first(ethernet_header_size + ip), message);
}

void link_host::send_arp(const arp_message& what, const hardware_address& at) const {
    std::array<UCHAR, ethernet_header_size> header;
    write(link_, at, type_arp, header, write_arp(what));
}

void link_host::request(const ib_gid_t& address, const ib_gid_t& from) const {
    if (is_ipv4(address)) {
        send_arp({true, hardware_, from, {}, address}, broadcast_address);
        return;
    }
    const global_route way{from, solicited_group(address), 0, neighbor_hop_limit, 0};
    const neighbor_message asks{true, address, hardware_};
    send_icmp(way, hardware_of_group(way.to), write_neighbor(asks, way));
}

void link_host::schedule_requests() {
    LARGE_INTEGER from_now;
    from_now.QuadPart = -static_cast<LONGLONG>(neighbors::request_interval);
    const spin_guard guard(lock_);
    if (is_closed_ || std::exchange(timer_is_set_, true)) return;
    KeSetTimer(&timer_, from_now, &dpc_);
}

// Which of the host's addresses requests it does not matter.
void link_host::repeat_requests() {
    {
        const spin_guard guard(lock_);
        timer_is_set_ = false;
    }
    try {
        for (const ib_gid_t& each : neighbors_.due_requests())
            request(each, *std::ranges::find_if(addresses_, [&](const ib_gid_t& own) {
                        return is_ipv4(own) == is_ipv4(each);
                    }));
    } catch (const std::bad_alloc&) {
        // They are due again a second later.
    }
    if (neighbors_.is_any_unknown()) schedule_requests();
}

void link_host::advertise(const ib_gid_t& own, const ib_gid_t& to,
                          const hardware_address& at) const {
    const global_route way{own, to, 0, neighbor_hop_limit, 0};
    const neighbor_message states{false, own, hardware_, to != all_nodes, true};
    send_icmp(way, at, write_neighbor(states, way));
}

void link_host::announce() const {
    for (const ib_gid_t& each : addresses_)
        if (is_ipv4(each))
            send_arp({true, hardware_, each, {}, each}, broadcast_address);
        else
            advertise(each, all_nodes, hardware_of_group(all_nodes));
}

// ---- reception

bool link_host::receive(const_bytes frame, arrival& into) {
    try {
        return read(frame, into);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool link_host::read(const_bytes frame, arrival& into) {
    if (frame.size() < ethernet_header_size) return false;
    const hardware_address to = hardware_at(frame.data());
    if (to != hardware_ && !is_group(to)) return false;
    const hardware_address from = hardware_at(&frame[source_offset]);
    if (is_group(from)) return false;
    const const_bytes content = frame.subspan(ethernet_header_size);
    const USHORT type = load16(&frame[ethernet_type_offset]);
    if (type == type_arp)
        if (const auto message = parse_arp(content)) receive_arp(*message);
    if (type != type_ipv4 && type != type_ipv6) return false;
    const auto packet = parse_ip(type == type_ipv4, content);
    return packet && receive_ip(*packet, from, into);
}

void link_host::receive_arp(const arp_message& what) {
    if (has(what.from_ip) || is_group(what.from)) return;
    const bool is_to_me = has(what.to_ip);
    learn(what.from_ip, what.from, true, is_to_me);
    if (what.is_request && is_to_me)
        send_arp({false, hardware_, what.to_ip, what.from, what.from_ip}, what.from);
}

// A solicitation without a sender is of a host that looks for duplicates of its address.
void link_host::receive_neighbor(const neighbor_message& what, const ib_gid_t& from,
                                 const hardware_address& at) {
    if (!what.is_solicitation) {
        if (what.hardware && !has(what.target))
            learn(what.target, *what.hardware, what.overrides, false);
        return;
    }
    if (!has(what.target) || has(from)) return;
    if (from == unspecified) {
        advertise(what.target, all_nodes, hardware_of_group(all_nodes));
        return;
    }
    if (what.hardware) learn(from, *what.hardware, true, true);
    advertise(what.target, from, at);
}

void link_host::learn(const ib_gid_t& address, const hardware_address& hardware, bool overrides,
                      bool is_new) {
    if (is_group(hardware) || ci::is_group(address)) return;
    if (address == unspecified || address == unspecified_4) return;
    std::array<UCHAR, ethernet_header_size> header;
    for (const neighbors::packet& each : neighbors_.learn(address, hardware, overrides, is_new))
        write(link_, hardware, type_of(address), header, each);
}

bool link_host::receive_ip(const ip_packet& what, const hardware_address& from, arrival& into) {
    const global_route& way = what.route.global;
    if (ci::is_group(way.from)) return false;
    if (what.protocol == protocol_udp && receives(way.to)) {
        into.route = what.route;
        into.payload = read_udp(what.content, into.route);
        return !into.payload.empty();
    }
    if (const auto message = parse_neighbor(what)) receive_neighbor(*message, way.from, from);
    if (!has(way.to)) return false;
    if (const auto reply = reply_to_echo(what)) send_icmp({way.to, way.from}, from, *reply);
    return false;
}

// ---- addresses

bool link_host::has(const ib_gid_t& address) const {
    return std::ranges::find(addresses_, address) != addresses_.end();
}

bool link_host::is_member(const ib_gid_t& group) {
    const spin_guard guard(lock_);
    return std::ranges::find(groups_, group) != groups_.end();
}

bool link_host::receives(const ib_gid_t& address) {
    return ci::is_group(address) ? is_member(address) : has(address);
}

void link_host::join(const ib_gid_t& group) {
    const spin_guard guard(lock_);
    groups_.push_back(group);
}

void link_host::leave(const ib_gid_t& group) {
    const spin_guard guard(lock_);
    groups_.erase(std::ranges::find(groups_, group));
}

} // namespace irpverbs::hca_software::roce
