// Arbitrary bytes as a packet: first as a frame, then, without routes and CRCs, as a transport
// packet. A packet that was parsed is written with the same bytes, except reserved ones.
#include <transport/packet_format.hpp>

#include <cstdlib>
#include <vector>

namespace {

using namespace irpverbs::hca_software::transport;

void require(bool condition) {
    if (!condition) std::abort();
}

void check(const packet& parsed, std::size_t size) {
    if (parsed.row().what == operation::reserved) return;
    require(transport_size(parsed) == size);
    std::vector<UCHAR> written(size);
    require(write_transport(parsed, written) == size);
    const std::optional<packet> again = parse_transport(written);
    require(again.has_value());
    require(again->opcode == parsed.opcode && again->number == parsed.number);
    require(again->content.size() == parsed.content.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const const_bytes input(data, size);
    if (const std::optional<frame> found = parse_frame(input)) (void)found->content.row();
    if (const std::optional<packet> found = parse_transport(input)) check(*found, size);
    return 0;
}
