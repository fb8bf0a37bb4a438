#include "packet_format.hpp"

#include "../mad.hpp"

#include <algorithm>
#include <cstring>

namespace irpverbs::hca_software::transport {

namespace {

constexpr UCHAR solicited_bit = 0x80;
constexpr UCHAR migrated_bit = 0x40;
constexpr UCHAR version_mask = 0x0F;
constexpr unsigned pad_shift = 4;
constexpr unsigned pad_mask = 3;
constexpr UCHAR forward_bit = 0x80;
constexpr UCHAR backward_bit = 0x40;
constexpr UCHAR ack_request_bit = 0x80;

ULONG pad_of(const packet& what) { return -what.content.size() & pad_mask; }

// ---- writing

class writer {
public:
    explicit writer(UCHAR* to) : at_(to) {}

    template <std::size_t Size>
    void put(ULONGLONG value) {
        store<Size>(at_, value);
        at_ += Size;
    }
    void put_bytes(const void* from, std::size_t size) {
        std::memcpy(at_, from, size);
        at_ += size;
    }
    void put_zeros(std::size_t size) { at_ = std::fill_n(at_, size, UCHAR{0}); }
    UCHAR* at() const { return at_; }

private:
    UCHAR* at_;
};

void put_base(writer& to, const packet& what) {
    to.put<1>(what.opcode);
    to.put<1>((what.solicited ? solicited_bit : 0u) | (what.migrated ? migrated_bit : 0u) |
              pad_of(what) << pad_shift);
    to.put<2>(what.pkey);
    to.put<1>((what.forward_congestion ? forward_bit : 0u) |
              (what.backward_congestion ? backward_bit : 0u));
    to.put<3>(what.to_qp);
    to.put<1>(what.ack_request ? ack_request_bit : 0);
    to.put<3>(what.number.value());
}

void put_extensions(writer& to, const packet& what, const opcode_row& row) {
    if (row.has(has_datagram)) {
        to.put<4>(what.datagram.qkey);
        to.put<4>(what.datagram.from_qp & psn::mask);
    }
    if (row.has(has_shared_receive)) to.put<4>(what.to_srq & psn::mask);
    if (row.has(has_rdma)) {
        to.put<8>(what.rdma.address);
        to.put<4>(what.rdma.rkey);
        to.put<4>(what.rdma.length);
    }
    if (row.has(has_atomic)) {
        to.put<8>(what.atomic.address);
        to.put<4>(what.atomic.rkey);
        to.put<8>(what.atomic.swap_or_add);
        to.put<8>(what.atomic.compare);
    }
    if (row.has(has_acknowledge)) {
        to.put<1>(what.acknowledge.syndrome);
        to.put<3>(what.acknowledge.msn);
    }
    if (row.has(has_result)) to.put<8>(what.atomic_result);
    if (row.has(has_immediate)) to.put_bytes(&what.immediate, sizeof(what.immediate));
    if (row.has(has_invalidate)) to.put<4>(what.invalidated_rkey);
}

// ---- reading; the caller has checked the number of bytes

class reader {
public:
    explicit reader(const UCHAR* from) : at_(from) {}

    template <std::size_t Size>
    ULONGLONG get() {
        const ULONGLONG value = load<Size>(at_);
        at_ += Size;
        return value;
    }
    template <std::size_t Size>
    ULONG number() {
        return static_cast<ULONG>(get<Size>());
    }
    void get_bytes(void* to, std::size_t size) {
        std::memcpy(to, at_, size);
        at_ += size;
    }

private:
    const UCHAR* at_;
};

void get_base(reader& from, packet& what) {
    what.opcode = static_cast<UCHAR>(from.get<1>());
    const ULONG flags = from.number<1>();
    what.solicited = (flags & solicited_bit) != 0;
    what.migrated = (flags & migrated_bit) != 0;
    what.pkey = static_cast<ib_pkey_t>(from.get<2>());
    const ULONG congestion = from.number<1>();
    what.forward_congestion = (congestion & forward_bit) != 0;
    what.backward_congestion = (congestion & backward_bit) != 0;
    what.to_qp = from.number<3>();
    what.ack_request = (from.number<1>() & ack_request_bit) != 0;
    what.number = psn(from.number<3>());
}

void get_extensions(reader& from, packet& what, const opcode_row& row) {
    if (row.has(has_datagram)) {
        what.datagram.qkey = from.number<4>();
        what.datagram.from_qp = from.number<4>() & psn::mask;
    }
    if (row.has(has_shared_receive)) what.to_srq = from.number<4>() & psn::mask;
    if (row.has(has_rdma)) {
        what.rdma.address = from.get<8>();
        what.rdma.rkey = from.number<4>();
        what.rdma.length = from.number<4>();
    }
    if (row.has(has_atomic)) {
        what.atomic.address = from.get<8>();
        what.atomic.rkey = from.number<4>();
        what.atomic.swap_or_add = from.get<8>();
        what.atomic.compare = from.get<8>();
    }
    if (row.has(has_acknowledge)) {
        what.acknowledge.syndrome = static_cast<UCHAR>(from.get<1>());
        what.acknowledge.msn = from.number<3>();
    }
    if (row.has(has_result)) what.atomic_result = from.get<8>();
    if (row.has(has_immediate)) from.get_bytes(&what.immediate, sizeof(what.immediate));
    if (row.has(has_invalidate)) what.invalidated_rkey = from.number<4>();
}

bool fits(payload_rule rule, std::size_t size) {
    switch (rule) {
    case payload_rule::none:
        return size == 0;
    case payload_rule::full:
    case payload_rule::not_empty:
        return size != 0 && size <= max_mtu;
    case payload_rule::any:
        break;
    }
    return size <= max_mtu;
}

bool is_known(service which) {
    return which == service::reliable_connection || which == service::unreliable_connection ||
           which == service::unreliable_datagram || which == service::extended_reliable_connection;
}

// ---- frames

constexpr std::size_t crcs_size = ci::invariant_crc_size + ci::variant_crc_size;
constexpr UCHAR next_is_transport = 2; // link next header
constexpr UCHAR next_is_global = 3;
constexpr ULONG words_mask = 0x7FF;

std::optional<ci::wire_route> parse_local_route(const_bytes from) {
    ci::wire_route route;
    const UCHAR next = from[1] & 0x03;
    if ((from[0] & 0x0F) != 0 || next < next_is_transport) return std::nullopt;
    route.managing = (from[0] & 0xF0) == 0xF0;
    route.service_level = from[1] >> 4;
    route.global = next == next_is_global;
    route.to.lid = load16(&from[2]);
    route.from.lid = load16(&from[6]);
    const std::size_t words = load16(&from[4]) & words_mask;
    if (words * 4 + ci::variant_crc_size != from.size()) return std::nullopt;
    return route;
}

bool parse_global_route(const_bytes from, ci::wire_route& route) {
    const ULONG head = load32(from.data());
    const std::size_t behind = load16(&from[4]);
    if (head >> 28 != 6 || from[6] != ci::after_global_route) return false;
    if (behind + ci::global_route_size + ci::variant_crc_size != from.size()) return false;
    route.traffic_class = static_cast<std::uint8_t>(head >> 20);
    route.flow_label = head & 0xFFFFF;
    route.hop_limit = from[7];
    route.from.gid = {load<8>(&from[8]), load<8>(&from[16])};
    route.to.gid = {load<8>(&from[24]), load<8>(&from[32])};
    return true;
}

bool crcs_are_right(const_bytes from, bool global) {
    std::array<UCHAR, crcs_size> right{};
    const const_bytes before = from.first(from.size() - crcs_size);
    const ULONG invariant = ci::invariant_crc(before, global);
    boost::endian::store_little_u32(right.data(), invariant);
    const auto variant = ci::variant_crc(from.first(from.size() - ci::variant_crc_size));
    boost::endian::store_little_u16(&right[4], variant);
    return std::ranges::equal(right, from.last(crcs_size));
}

} // namespace

std::size_t transport_size(const packet& of) {
    return base_transport_size + of.row().header_size + of.content.size() + pad_of(of);
}

std::size_t write_headers(const packet& what, std::span<UCHAR> to) {
    writer out(to.data());
    put_base(out, what);
    put_extensions(out, what, what.row());
    return static_cast<std::size_t>(out.at() - to.data());
}

std::size_t write_transport(const packet& what, std::span<UCHAR> to) {
    writer out(to.data() + write_headers(what, to));
    for (const const_bytes& each : what.content.pieces())
        out.put_bytes(each.data(), each.size());
    out.put_zeros(pad_of(what));
    return static_cast<std::size_t>(out.at() - to.data());
}

std::optional<packet> parse_transport(const_bytes from) {
    if (from.size() < base_transport_size || from.size() % 4 != 0) return std::nullopt;
    const UCHAR flags = from[1];
    if ((flags & version_mask) != 0 || !is_known(service_of(from[0]))) return std::nullopt;
    std::optional<packet> made(std::in_place);
    const opcode_row& row = row_of(from[0]);
    const std::size_t headers = base_transport_size + row.header_size;
    const std::size_t pad = flags >> pad_shift & pad_mask;
    if (from.size() < headers + pad) return std::nullopt;
    const std::size_t size = from.size() - headers - pad;
    const bool reserved = row.what == operation::reserved;
    if (!fits(reserved ? payload_rule::any : row.payload, size)) return std::nullopt;
    reader in(from.data());
    get_base(in, *made);
    get_extensions(in, *made, row);
    made->content.append(from.subspan(headers, size));
    return made;
}

std::size_t write_frame(const ci::wire_route& route, const packet& what, std::span<UCHAR> to) {
    std::size_t size = ci::write_route(route, transport_size(what), to.data());
    size += write_transport(what, to.subspan(size));
    return ci::write_crcs(to.data(), size, route.global);
}

std::optional<frame> parse_frame(const_bytes from) {
    if (from.size() < ci::local_route_size + base_transport_size + crcs_size) return std::nullopt;
    const std::optional<ci::wire_route> route = parse_local_route(from);
    if (!route) return std::nullopt;
    frame made{*route, {}};
    const std::size_t routes = ci::route_size(route->global);
    if (from.size() < routes + base_transport_size + crcs_size) return std::nullopt;
    const const_bytes behind = from.subspan(ci::local_route_size);
    if (route->global && !parse_global_route(behind, made.route)) return std::nullopt;
    if (!crcs_are_right(from, route->global)) return std::nullopt;
    const std::optional<packet> content =
        parse_transport(from.subspan(routes, from.size() - routes - crcs_size));
    if (!content) return std::nullopt;
    made.content = *content;
    return made;
}

} // namespace irpverbs::hca_software::transport
