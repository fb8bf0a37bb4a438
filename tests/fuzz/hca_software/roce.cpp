// RoCEv2 packets of arbitrary bytes. The first byte chooses the IP version, whether the invariant
// CRC is made right, and whether a raw socket has read the headers; the rest is the UDP payload, or
// the packet of the raw socket. A packet that is accepted and written again is accepted as well.
#include <roce/packet.hpp>
#include <roce/raw_reception.hpp>

#include <cstdlib>
#include <vector>

namespace {

using namespace irpverbs::hca_software;

void require(bool condition) {
    if (!condition) std::abort();
}

roce::ip_route route_of(bool is_version_4) {
    constexpr std::uint64_t mapped = std::uint64_t{0xFFFF} << 32;
    roce::ip_route made;
    made.global.from =
        is_version_4 ? ib_gid_t{0, mapped | 0x0A4E0001} : ib_gid_t{0xFD78ull << 48, 1};
    made.global.to = is_version_4 ? ib_gid_t{0, mapped | 0x0A4E0002} : ib_gid_t{0xFD78ull << 48, 2};
    return made;
}

void write_again(const transport::packet& what, roce::ip_route route) {
    const std::size_t size = transport::transport_size(what) + irpverbs::ci::invariant_crc_size;
    std::vector<UCHAR> bytes(size);
    transport::write_transport(what, bytes);
    roce::write_invariant_crc(route, bytes);
    const USHORT identification = route.identification;
    require(roce::has_right_crc(route, bytes));
    require(route.identification == identification);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const UCHAR* data, std::size_t size) {
    if (size == 0) return 0;
    roce::ip_route route = route_of((data[0] & 1) != 0);
    std::vector<UCHAR> payload(data + 1, data + size);
    if ((data[0] & 4) != 0) {
        const auto behind = roce::read_raw(payload, (data[0] & 1) != 0, route);
        payload.assign(behind.begin(), behind.end());
    }
    const bool is_repaired =
        (data[0] & 2) != 0 && payload.size() >= 16 && payload.size() <= roce::max_udp_payload;
    if (is_repaired) roce::write_invariant_crc(route, payload);
    if (!roce::has_right_crc(route, payload)) return 0;
    const auto parsed = transport::parse_transport(std::span(payload).first(payload.size() - 4));
    if (parsed) write_again(*parsed, route);
    return 0;
}
