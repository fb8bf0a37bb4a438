// Frames of arbitrary bytes at a host on an Ethernet link. The input is a sequence of them: 2 bytes
// have the length of the next one, and 1 says which checksums are made right first. The host writes
// at most one frame for one that it reads, unless packets have waited, and still reaches a neighbor
// that states its address.
#include <dispatch/sim_machine.hpp>
#include <dispatch/testing/choices.hpp>

#include <roce/internet_checksum.hpp>
#include <roce/link_host.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace irpverbs::hca_software;

constexpr std::size_t header = roce::ethernet_header_size;
constexpr roce::hardware_address own{2, 0, 0, 0, 0x78, 2};

void require(bool condition) {
    if (!condition) std::abort();
}

ib_gid_t ipv4(ULONG address) { return {0, std::uint64_t{0xFFFF} << 32 | address}; }
ib_gid_t ipv6(std::uint64_t last) { return {0xFD78ull << 48, last}; }

std::array<int, 2> open_pair() {
    std::array<int, 2> ends{-1, -1};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return ends;
}

struct packet_pair {
    const std::array<int, 2> ends = open_pair();
    roce::packet_descriptor near{ends[0]};
    roce::packet_descriptor far{ends[1]};
};

std::size_t count_frames(const roce::packet_descriptor& from) {
    std::vector<UCHAR> frame(10'000);
    std::size_t count = 0;
    while (from.read(frame).value_or(0) != 0)
        ++count;
    return count;
}

void repair_ipv4(std::vector<UCHAR>& frame) {
    if (frame.size() < header + roce::ipv4_header_size) return;
    store<2>(&frame[header + 10], 0);
    const std::size_t size =
        std::min<std::size_t>((frame[header] & 0xFu) * 4u, frame.size() - header);
    roce::internet_checksum sum;
    sum.add({&frame[header], size});
    store<2>(&frame[header + 10], sum.value());
}

void repair_icmp(std::vector<UCHAR>& frame, bool is_version_4) {
    const auto packet = roce::parse_ip(is_version_4, std::span(frame).subspan(header));
    if (!packet || packet->content.size() < 4) return;
    UCHAR* const message = &frame[static_cast<std::size_t>(packet->content.data() - frame.data())];
    store<2>(message + 2, 0);
    roce::internet_checksum sum;
    if (!is_version_4)
        sum.add(roce::pseudo_header_sum(packet->route.global, packet->content.size()));
    sum.add(packet->content);
    store<2>(message + 2, sum.value());
}

void repair(std::vector<UCHAR>& frame, UCHAR how) {
    if (frame.size() < header) return;
    if ((how & 1) != 0) std::ranges::copy(own, frame.begin());
    if ((how & 2) != 0) repair_ipv4(frame);
    if ((how & 4) != 0) repair_icmp(frame, load16(&frame[12]) == roce::type_ipv4);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const UCHAR* data, std::size_t size) {
    irpverbs::dispatch::random_choices choices(1);
    irpverbs::dispatch::sim_machine machine(choices, {});
    const irpverbs::dispatch::machine::scope inside(machine);
    packet_pair link, loop;
    roce::link_host host(own, {ipv4(0x0A4E0002), ipv6(2)}, link.near, loop.near);
    host.join(ipv4(0xEF070707));
    for (const UCHAR* const end = data + size; end - data >= 3;) {
        const std::size_t wanted = load16(data);
        const UCHAR how = data[2];
        data += 3;
        std::vector<UCHAR> frame(
            data, data + std::min<std::size_t>(wanted, static_cast<std::size_t>(end - data)));
        data += frame.size();
        repair(frame, how);
        roce::arrival got;
        if (host.receive(frame, got)) {
            require(got.payload.data() >= frame.data());
            require(got.payload.data() + got.payload.size() <= frame.data() + frame.size());
        }
        require(count_frames(link.far) <= 1);
    }
    for (const bool is_version_4 : {true, false}) {
        const UCHAR bytes[8] = {};
        const ib_gid_t from = is_version_4 ? ipv4(0x0A4E0002) : ipv6(2);
        const ib_gid_t to = is_version_4 ? ipv4(0x0A4E0001) : ipv6(1);
        require(host.send({from, to}, bytes) == 0);
        require(count_frames(link.far) == 1); // the packet, or a request for the address
    }
    require(count_frames(loop.far) == 0);
    return 0;
}
