#include "qp_traffic.hpp"

#include "adapter.hpp"
#include "key_checks.hpp"
#include "qp_attributes.hpp"
#include "queue_pair.hpp"

#include "roce/ethernet_port.hpp"
#include "transport/scatter_gather.hpp"

#include <ci/support/ip_gid.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

namespace irpverbs::hca_software {

namespace {

constexpr ULONG most_in_burst = 64;        // packets of a queue pair before others are served
constexpr machine_time burst_interval = 5; // 500 ns

ci::wire_route wire_route_of(const datagram& of) {
    ci::wire_route made;
    made.from = {of.from, of.from_qp, of.route.from};
    made.to = {of.to, of.to_qp, of.route.to};
    made.service_level = of.service_level;
    made.global = of.global;
    made.traffic_class = of.route.traffic_class;
    made.hop_limit = of.route.hop_limit;
    made.flow_label = of.route.flow_label;
    return made;
}

// A packet of the fabric's agents has no UDP port of its origin.
roce::ip_route ip_route_of(const datagram& of) {
    const USHORT port = of.from_udp_port != 0 ? of.from_udp_port : roce::udp_port;
    return {of.route, port, of.identification};
}

// Writes transport_size(what) bytes. False: a page of the payload is not mapped.
bool write_bytes(queue_pair& by, const transport::packet& what, std::span<UCHAR> to) {
    UCHAR* const content = to.data() + transport::write_headers(what, to);
    std::fill(content + what.content.size(), to.data() + to.size(), UCHAR{0});
    return transport::copy_payload(by.memory, content, what.content);
}

/// A packet as bytes.
struct packed {
    bool mapped = true;   // false: its payload could not be read
    shared_payload bytes; // null: no memory
};

packed pack(queue_pair& by, const transport::packet& what) try {
    std::vector<UCHAR> bytes(transport::transport_size(what));
    if (!write_bytes(by, what, bytes)) return {false, nullptr};
    return {true, std::make_shared<const std::vector<UCHAR>>(std::move(bytes))};
} catch (const std::bad_alloc&) {
    return {};
}

port& port_of(const queue_pair& of) { return *of.hca.find_port(of.attr.primary_port); }

// Writes routes and keys of a packet; a datagram has its own way.
void address(datagram& what, const port& from, const queue_pair& by, const transport::packet& of) {
    const ib_av_attr_t& way = of.to != nullptr ? *of.to : by.attr.primary_av;
    what.from = static_cast<ib_lid_t>(from.lid | way.path_bits);
    what.to = way.dlid;
    what.service_level = way.sl & 0xF;
    what.pkey = from.pkeys[by.attr.pkey_index];
    what.from_qp = by.attr.num;
    what.to_qp = of.to_qp;
    what.qkey = of.datagram.qkey;
    what.global = way.grh_valid != FALSE && way.grh.sgid_index < from.gids.size();
    if (!what.global) return;
    what.route = {from.gids[way.grh.sgid_index], way.grh.dest_gid, way.grh.flow_label & 0xFFFFF,
                  way.grh.hop_limit, way.grh.traffic_class};
}

std::array<UCHAR, ci::global_route_size> route_header_of(const packet& what) {
    ci::wire_route route;
    route.global = true;
    route.from.gid = what.route.from;
    route.to.gid = what.route.to;
    route.flow_label = what.route.flow_label;
    route.hop_limit = what.route.hop_limit;
    route.traffic_class = what.route.traffic_class;
    std::array<UCHAR, ci::local_route_size + ci::global_route_size> headers;
    ci::write_route(route, what.payload->size(), headers.data());
    std::array<UCHAR, ci::global_route_size> made;
    std::copy(headers.begin() + ci::local_route_size, headers.end(), made.begin());
    return made;
}

transport::arrival arrival_of(const packet& what, const port& in, USHORT pkey_index) {
    transport::arrival made;
    made.from = what.from;
    made.service_level = what.service_level;
    if (!what.is_multicast()) made.path_bits = static_cast<UCHAR>(what.to - in.lid);
    made.pkey_index = pkey_index;
    made.global = what.global;
    if (!what.global) return made;
    made.route =
        in.ethernet != nullptr
            ? roce::received_route(ip_route_of(what), what.payload->size() + ci::invariant_crc_size)
            : route_header_of(what);
    return made;
}

// True if a packet has come from the peer of a connection. An Ethernet port has no LIDs.
bool is_from_peer(const packet& what, const ib_av_attr_t& way, const port& in) {
    if (in.ethernet == nullptr) return what.from == way.dlid && what.to == (in.lid | way.path_bits);
    return what.route.from == way.grh.dest_gid && what.route.to == in.gids[way.grh.sgid_index];
}

} // namespace

void qp_traffic::capture(const port& at, const datagram& what) {
    DEVICE_OBJECT* device = at.owner->attached->device();
    if (!HcaIsCaptured(device)) [[likely]]
        return;
    auto whole = transport::parse_transport(*what.payload);
    if (!whole) return;
    whole->pkey = what.pkey;
    std::array<UCHAR, std::max(transport::max_frame_size, roce::max_frame_size)> bytes;
    const std::size_t size = at.ethernet != nullptr
                                 ? roce::write_frame(ip_route_of(what), *whole, bytes)
                                 : transport::write_frame(wire_route_of(what), *whole, bytes);
    HcaReportPacket(device, at.number, bytes.data(), size);
}

// A packet for which there is no memory is not captured.
void qp_traffic::capture_sent(const port& at, datagram& route, transport::const_bytes bytes) try {
    route.payload = std::make_shared<const std::vector<UCHAR>>(bytes.begin(), bytes.end());
    capture(at, route);
} catch (const std::bad_alloc&) {
    return;
}

qp_traffic::qp_traffic(fabric& where, const qp_table& qps) : fabric_(where), qps_(qps) {
    KeInitializeDpc(&dpc_, serve_some, this);
}

void qp_traffic::add(queue_pair& which) {
    if (std::exchange(which.service.waiting, true)) return;
    which.service.next_waiting = nullptr;
    (first_ == nullptr ? first_ : last_->service.next_waiting) = &which;
    last_ = &which;
    if (!std::exchange(serving_, true)) KeInsertQueueDpc(&dpc_, nullptr, nullptr);
}

bool qp_traffic::deliver(packet* what) {
    return qps_.with(what->to_qp, [&](queue_pair* to) {
        if (to == nullptr) return false;
        to->service.arrived.push(what);
        add(*to);
        return true;
    });
}

// A queue pair that is attached twice receives one copy. There is none for which the pool has no
// packet: a datagram may be lost.
void qp_traffic::deliver_to_group(const packet& what) {
    if (!what.global) return;
    ++multicasts_;
    attachments_.for_each(what.to, what.route.to, [&](queue_pair& to) {
        if (std::exchange(to.service.newest_multicast, multicasts_) == multicasts_) return;
        packet* copy = fabric_.packets().copy(what);
        if (copy == nullptr) return;
        to.service.arrived.push(copy);
        add(to);
    });
}

bool qp_traffic::attach(attachment& added) {
    return fabric_.with_lock([&] { return attachments_.add(added); });
}

void qp_traffic::detach(attachment& removed) {
    fabric_.with_lock([&] { attachments_.remove(removed); });
}

void qp_traffic::wake(ib_qpn_t number, machine_time due) {
    qps_.with(number, [&](queue_pair* woken) {
        if (woken == nullptr) return;
        woken->service.woken_until = std::max(woken->service.woken_until, due);
        add(*woken);
    });
}

void qp_traffic::request(queue_pair& which) {
    fabric_.with_lock([&] { add(which); });
}

void qp_traffic::wake_at(const queue_pair& which, machine_time due) {
    fabric_.with_lock([&] { fabric_.wake_at(due, port_of(which), which.attr.num); });
}

// A packet for which there is no memory is lost. One for which there is no room in the pool, or
// none in the burst, is sent when the queue pair is woken.
transport::transmission qp_traffic::transmit(queue_pair& by, const transport::packet& what) {
    if (by.resumes_at != 0) return transport::transmission::later;
    if (by.burst == most_in_burst) return delay(by);
    port& from = port_of(by);
    const transport::transmission result = from.ethernet != nullptr
                                               ? send_on_ethernet(by, from, what)
                                               : send_on_fabric(by, from, what);
    if (result == transport::transmission::later) return delay(by);
    if (result == transport::transmission::sent) ++by.burst;
    return result;
}

// Later: the pool has no packet.
transport::transmission qp_traffic::send_on_fabric(queue_pair& by, port& from,
                                                   const transport::packet& what) {
    if (what.to_qp < first_qp_number) return transport::transmission::sent; // there is none
    const packed made = pack(by, what);
    if (!made.mapped) return transport::transmission::unmapped;
    const shared_payload& bytes = made.bytes;
    if (bytes == nullptr) return transport::transmission::sent;
    const bool taken = fabric_.change_below([&] {
        packet* sent = fabric_.packets().allocate();
        if (sent == nullptr) return false;
        address(*sent, from, by, what);
        sent->payload = bytes;
        sent->transport_headers = static_cast<USHORT>(bytes->size() - what.content.size());
        capture(from, *sent);
        fabric_.send(from, sent);
        return true;
    });
    return taken ? transport::transmission::sent : transport::transmission::later;
}

// The system call is made without the fabric's lock. Later: the socket is full.
transport::transmission qp_traffic::send_on_ethernet(queue_pair& by, port& from,
                                                     const transport::packet& what) {
    constexpr std::size_t pkey_offset = 2; // in the base transport header
    const std::size_t size = transport::transport_size(what);
    std::array<UCHAR, roce::max_udp_payload> bytes;
    if (!write_bytes(by, what, std::span(bytes).first(size)))
        return transport::transmission::unmapped;
    datagram route;
    fabric_.with_lock([&] {
        address(route, from, by, what);
        count_sent(from, false, (size + ci::invariant_crc_size) / 4);
    });
    store<2>(&bytes[pkey_offset], route.pkey);
    if (HcaIsCaptured(by.hca.device())) {
        route.from_udp_port = from.ethernet->source_port(route.route.from);
        capture_sent(from, route, std::span(bytes).first(size));
    }
    const auto payload = std::span(bytes).first(size + ci::invariant_crc_size);
    return from.ethernet->send(route.route, payload) ? transport::transmission::sent
                                                     : transport::transmission::later;
}

transport::transmission qp_traffic::delay(queue_pair& which) {
    which.resumes_at = KeQueryInterruptTime() + burst_interval;
    wake_at(which, which.resumes_at);
    return transport::transmission::later;
}

bool qp_traffic::accepts(const packet& what, const qp_path& by) {
    return fabric_.change_below([&] {
        port& in = *what.at;
        return in.number == by.port && is_from_peer(what, by.av, in) &&
               accepts_partition(fabric_, in, what, in.pkeys[by.pkey_index]);
    });
}

std::optional<transport::arrival> qp_traffic::accept_datagram(const queue_pair& at,
                                                              const packet& what) {
    return fabric_.change_below([&]() -> std::optional<transport::arrival> {
        port& in = *what.at;
        if (in.number != at.attr.primary_port) return std::nullopt;
        const IB_MAD_KEYS keys{in.pkeys[at.attr.pkey_index], at.attr.qkey};
        if (!hca_software::accepts(fabric_, in, what, &keys)) return std::nullopt;
        return arrival_of(what, in, at.attr.pkey_index);
    });
}

ULONG qp_traffic::datagram_limit(const queue_pair& by, const ib_av_attr_t& way) {
    return fabric_.with_lock([&]() -> ULONG {
        const port& from = port_of(by);
        const bool is_multicast = way.dlid > IB_LID_UNICAST_LAST;
        const bool has_lids =
            way.dlid != 0 &&
            (!is_multicast || (way.grh_valid != FALSE && ci::is_group(way.grh.dest_gid)));
        const bool exists = way.port_num == from.number && is_on(from, way) &&
                            (from.ethernet != nullptr || has_lids);
        return exists ? static_cast<ULONG>(bytes_of_mtu(from)) : 0;
    });
}

void qp_traffic::free(packet_queue& list) {
    fabric_.with_lock([&] {
        while (packet* each = list.pop())
            fabric_.packets().free(each);
    });
}

queue_pair* qp_traffic::hold(ib_qpn_t number) {
    return fabric_.with_lock([&] {
        return qps_.with(number, [](queue_pair* found) {
            if (found != nullptr) ++found->service.holders;
            return found;
        });
    });
}

void qp_traffic::hold(queue_pair& which) {
    fabric_.with_lock([&] { ++which.service.holders; });
}

// The DPC completes a destroy that waits: the caller holds locks.
void qp_traffic::release(queue_pair& which) {
    fabric_.with_lock([&] {
        if (--which.service.holders == 0 && which.service.destroyer != nullptr) add(which);
    });
}

NTSTATUS qp_traffic::remove(queue_pair& which, PIRP irp) {
    return fabric_.with_lock([&] {
        if (!which.service.is_used()) return STATUS_SUCCESS;
        IoMarkIrpPending(irp);
        which.service.destroyer = irp;
        return STATUS_PENDING;
    });
}

// Null: no more.
queue_pair* qp_traffic::next() {
    return fabric_.with_lock([&] {
        queue_pair* taken = first_;
        serving_ = taken != nullptr;
        if (taken == nullptr) return taken;
        first_ = taken->service.next_waiting;
        taken->service.waiting = false;
        taken->service.served = true;
        return taken;
    });
}

void qp_traffic::serve(queue_pair& which) {
    machine_time woken_until = 0;
    packet_queue arrived;
    fabric_.with_lock([&] {
        arrived = std::exchange(which.service.arrived, {});
        woken_until = which.service.woken_until;
    });
    which.receive(arrived, woken_until);
    which.report_pending();
}

PIRP qp_traffic::end_service(queue_pair& which) {
    return fabric_.with_lock([&]() -> PIRP {
        which.service.served = false;
        return which.service.is_used() ? nullptr : which.service.destroyer;
    });
}

void qp_traffic::serve_some(KDPC* dpc, void* context, void*, void*) {
    auto& self = *static_cast<qp_traffic*>(context);
    for (unsigned turn = 0; turn < max_per_run; ++turn) {
        queue_pair* which = self.next();
        if (which == nullptr) return;
        self.serve(*which);
        if (PIRP irp = self.end_service(*which)) {
            std::destroy_at(which);
            HcaComplete(irp, STATUS_SUCCESS, 0);
        }
    }
    KeInsertQueueDpc(dpc, nullptr, nullptr); // other DPCs run between
}

} // namespace irpverbs::hca_software
