// Captures: the bytes of a packet, the packets that are captured, and the time of the write.
#include "mad_hca.hpp"

#include <capture/wire_packet.hpp>
#include <ci/capture.h>
#include <ci/capture.hpp>
#include <dispatch/support/sanitizers.hpp>

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

/// The largest block that was requested from operator new since the last reset.
constinit std::atomic<std::size_t> largest_allocation{0};

/// Requests of exactly this size fail; 0: none. And the number of those that failed.
[[maybe_unused]] constinit std::atomic<std::size_t> refused_size{0};
[[maybe_unused]] constinit std::atomic<std::size_t> refused{0};

} // namespace

// Sanitizers have an operator new of their own, and the largest block stays 0 there.
#if !IRPVERBS_ADDRESS_SANITIZER && !IRPVERBS_THREAD_SANITIZER
void* operator new(std::size_t size) {
    std::size_t seen = largest_allocation.load(std::memory_order_relaxed);
    while (seen < size && !largest_allocation.compare_exchange_weak(seen, size)) {
    }
    if (size != 0 && size == refused_size.load(std::memory_order_relaxed)) {
        ++refused;
        throw std::bad_alloc();
    }
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

using namespace irpverbs::testing;
namespace ci = irpverbs::ci;

constexpr std::size_t file_header = 24;
constexpr std::size_t record_header = 16 + 16;
constexpr std::size_t local_packet = 8 + 12 + 8 + 256 + 4 + 2;
constexpr ib_lid_t own_lid = 0x11;

// The sample packet of IBA 7.8, and its CRC.
TEST(WirePacket, SpecificationSamplePacket_InvariantCrcMatches) {
    constexpr std::uint8_t sample[] = {
        0x70, 0x12, 0x37, 0x5C, 0x00, 0x0E, 0x17, 0xD2, 0x0A, 0x20, 0x24, 0x87, 0x00,
        0x87, 0xB1, 0xB3, 0x00, 0x0D, 0xEC, 0x2A, 0x01, 0x71, 0x0A, 0x1C, 0x01, 0x5D,
        0x40, 0x02, 0x38, 0xF2, 0x7A, 0x05, 0x00, 0x00, 0x00, 0x0E, 0xBB, 0x88, 0x4D,
        0x85, 0xFD, 0x5C, 0xFB, 0xA4, 0x72, 0x8B, 0xC0, 0x69, 0x0E, 0xD4, 0x00, 0x00};
    EXPECT_EQ(ci::invariant_crc(sample, false), 0x5AB72596u); // on the wire 96 25 B7 5A
}

// A receiver that computes the CRC over all bytes but the lane, the CRC included, always finds the
// same remainder.
TEST(WirePacket, VariantCrc_CoversAllPrecedingBytes) {
    std::array<std::uint8_t, IB_MAD_SIZE> mad{1, 4, 1, 1};
    const auto remainder = [&] {
        const ci::wire_packet packet({}, mad);
        return ci::variant_crc(packet.bytes());
    };
    const std::uint16_t first = remainder();
    mad[200] = 0x55;
    EXPECT_EQ(remainder(), first);
}

// The invariant CRC leaves out exactly the fields that routers change.
TEST(WirePacket, RoutingFieldsChanged_InvariantCrcUnchanged) {
    const std::array<std::uint8_t, IB_MAD_SIZE> mad{};
    ci::wire_route route;
    route.global = true;
    const auto check = [&] {
        const ci::wire_packet packet(route, mad);
        return ci::invariant_crc(packet.bytes().first(packet.bytes().size() - 6), true);
    };
    const std::uint32_t first = check();
    route.hop_limit = 7;
    route.traffic_class = 9;
    route.flow_label = 11;
    EXPECT_EQ(check(), first);
    route.to.gid.gid_guid = 1;
    EXPECT_NE(check(), first);
}

/// Attributes of two ports, in the layout of a query's block.
struct ca_block {
    ca_block() {
        ca.PortCount = 2;
        ca.PortOffset =
            static_cast<ULONG>(reinterpret_cast<char*>(ports) - reinterpret_cast<char*>(&ca));
        for (IB_PORT_ATTR& each : ports)
            each.Lid = own_lid;
    }
    IB_CA_ATTR ca{};
    IB_PORT_ATTR ports[2]{};
};

struct captured {
    ci::capture::sink sink() {
        return [this](std::span<const std::byte> some) {
            EXPECT_LE(KeGetCurrentIrql(), APC_LEVEL);
            file.insert(file.end(), some.begin(), some.end());
        };
    }
    std::size_t records() const {
        EXPECT_EQ((file.size() - file_header) % (record_header + local_packet), 0u);
        return (file.size() - file_header) / (record_header + local_packet);
    }
    std::uint16_t lid_at(std::size_t record, std::size_t offset) const {
        const std::size_t at =
            file_header + record * (record_header + local_packet) + record_header + offset;
        return static_cast<std::uint16_t>(std::to_integer<unsigned>(file[at]) << 8 |
                                          std::to_integer<unsigned>(file[at + 1]));
    }
    ib_lid_t destination(std::size_t record) const { return lid_at(record, 2); }
    ib_lid_t source(std::size_t record) const { return lid_at(record, 6); }

    std::vector<std::byte> file;
};

NTSTATUS send_to(const agent_scope& by, ib_lid_t lid) {
    std::array<UCHAR, IB_MAD_SIZE> mad{};
    IB_MAD_SEND what{};
    what.To.Lid = lid;
    what.Data = mad.data();
    what.Length = IB_MAD_HEADER_SIZE;
    return verb_call([&](IRP* irp) { return CiSendMad(by.agent, &what, irp); }).status();
}

class Capture : public BothMachines {};

TEST_P(Capture, CaptureActive_RecordsSentAndReceivedDatagrams) {
    const mad_hca hca;
    const agent_scope it(hca);
    const ca_block attributes;
    captured seen;
    EXPECT_EQ(send_to(it, 1), STATUS_SUCCESS);
    {
        ci::capture capture(seen.sink());
        EXPECT_EQ(capture.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
        EXPECT_EQ(send_to(it, 2), STATUS_SUCCESS);
        it.report(1);       // from LID 7
        it.report(1, 1000); // a message that the driver's RMPP assembled
        EXPECT_EQ(capture.lost(), 0u);
    }
    EXPECT_EQ(send_to(it, 3), STATUS_SUCCESS);
    ASSERT_EQ(seen.records(), 3u);
    EXPECT_EQ(seen.source(0), own_lid);
    EXPECT_EQ(seen.destination(0), 2);
    EXPECT_EQ(seen.source(1), 7);
    EXPECT_EQ(seen.destination(1), own_lid);
}

// The cost of a datagram does not depend on the number of unwritten ones: no memory grows at
// DISPATCH_LEVEL.
TEST(CaptureQueue, Datagram_WhileManyWaitToBeWritten_AllocatesOneRecord) {
    irpverbs::dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = 0;
    expect_explored(once, [](irpverbs::dispatch::sim_machine&) {
        const mad_hca hca;
        const agent_scope it(hca);
        const ca_block attributes;
        captured seen;
        constexpr std::size_t many = 1000;
        {
            ci::capture capture(seen.sink());
            EXPECT_EQ(capture.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
            std::size_t largest = 0;
            {
                const at_dispatch_level here; // no work item runs
                for (std::size_t i = 0; i < many; ++i) {
                    largest_allocation = 0;
                    it.report(1);
                    largest = std::max(largest, largest_allocation.load());
                }
            }
            EXPECT_LT(largest, 1024u);
        }
        EXPECT_EQ(seen.records(), many);
    });
}

// The packets of an agent's own QP are MADs, with the number of that QP.
TEST_P(Capture, OwnQpAgent_RecordedWithQpNumberUnlessRaw) {
    mad_hca hca;
    hca.operations.ModifyMadAgent = [](HCA_MAD_AGENT*, const IB_MAD_KEYS*, IRP*) {
        return STATUS_SUCCESS;
    };
    hca.operations.RegisterMadAgent = [](HCA_MAD_AGENT* agent, IRP*) {
        agent->Agent.Attr.Qp = 0x1234;
        return STATUS_SUCCESS;
    };
    IB_MAD_AGENT_ATTR attr{};
    attr.PortNumber = 1;
    attr.QpKind = IB_MAD_QP_OWN_RAW;
    const agent_scope raw(hca, attr);
    attr.QpKind = IB_MAD_QP_OWN_MADS;
    const agent_scope mads(hca, attr);
    const ca_block attributes;
    captured seen;
    {
        ci::capture capture(seen.sink());
        EXPECT_EQ(capture.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
        EXPECT_EQ(send_to(raw, 2), STATUS_SUCCESS);
        raw.report(1);
        EXPECT_EQ(send_to(mads, 2), STATUS_SUCCESS);
    }
    ASSERT_EQ(seen.records(), 1u);
    constexpr std::size_t source_qp = 8 + 12 + 4; // local route, base transport, Q_Key
    EXPECT_EQ(seen.lid_at(0, source_qp + 2), 0x1234);
}

TEST_P(Capture, SecondCaptureOnHca_ReturnsBusy) {
    const mad_hca hca;
    const ca_block attributes;
    captured seen;
    {
        ci::capture first(seen.sink());
        EXPECT_EQ(first.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
        ci::capture second(seen.sink());
        EXPECT_EQ(second.add(hca.fdo, attributes.ca), STATUS_DEVICE_BUSY);
    }
    ci::capture third(seen.sink());
    EXPECT_EQ(third.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
}

VOID write_to(const VOID* bytes, SIZE_T length, VOID* context) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    auto& file = static_cast<captured*>(context)->file;
    file.insert(file.end(), first, first + length);
}

TEST_P(Capture, FromC_WritesTheSameFile) {
    const mad_hca hca;
    const agent_scope it(hca);
    const ca_block attributes;
    captured seen;
    CI_CAPTURE* capture = nullptr;
    ASSERT_EQ(CiBeginCapture(write_to, &seen, &capture), STATUS_SUCCESS);
    EXPECT_EQ(seen.file.size(), file_header);
    EXPECT_EQ(CiCaptureHca(capture, hca.fdo, &attributes.ca), STATUS_SUCCESS);
    EXPECT_EQ(CiCaptureHca(capture, hca.fdo, &attributes.ca), STATUS_DEVICE_BUSY);
    EXPECT_EQ(send_to(it, 2), STATUS_SUCCESS);
    EXPECT_EQ(CiEndCapture(capture), 0u);
    ASSERT_EQ(seen.records(), 1u);
    EXPECT_EQ(seen.destination(0), 2);
}

TEST_P(Capture, FromC_ArgumentMissing_IsInvalid) {
    const mad_hca hca;
    const ca_block attributes;
    captured seen;
    CI_CAPTURE* capture = nullptr;
    EXPECT_EQ(CiBeginCapture(nullptr, nullptr, &capture), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiBeginCapture(write_to, &seen, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiCaptureHca(nullptr, hca.fdo, &attributes.ca), STATUS_INVALID_PARAMETER);
    ASSERT_EQ(CiBeginCapture(write_to, &seen, &capture), STATUS_SUCCESS);
    EXPECT_EQ(CiCaptureHca(capture, nullptr, &attributes.ca), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(CiCaptureHca(capture, hca.fdo, nullptr), STATUS_INVALID_PARAMETER);
    CiEndCapture(capture);
    EXPECT_EQ(CiEndCapture(nullptr), 0u);
}

IRPVERBS_ON_BOTH_MACHINES(Capture);

// Each datagram is in the file whole or absent, and the sender and the end of the capture both
// return.
TEST(CaptureRaces, CaptureClosedDuringTraffic_BothComplete) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 1000;
    options.pct_runs = 1000;
    expect_explored(options, [](irpverbs::dispatch::sim_machine& sim) {
        const mad_hca hca;
        const agent_scope it(hca);
        const ca_block attributes;
        captured seen;
        sim.spawn("sender", [&] { EXPECT_EQ(send_to(it, 2), STATUS_SUCCESS); });
        sim.spawn("receiver", [&] { it.report(1); });
        sim.spawn("capture", [&] {
            ci::capture capture(seen.sink());
            EXPECT_EQ(capture.add(hca.fdo, attributes.ca), STATUS_SUCCESS);
        });
        sim.run();
        EXPECT_LE(seen.records(), 2u);
    });
}

#if !IRPVERBS_ADDRESS_SANITIZER && !IRPVERBS_THREAD_SANITIZER
// No record fits into memory: each datagram that the capture saw is in the number of losses, at
// whatever time the capture ends.
TEST(CaptureRaces, DatagramLostDuringEnd_IsCounted) {
    irpverbs::dispatch::explore_options options;
    options.random_runs = options.pct_runs = 500;
    unsigned unseen = 0;
    expect_explored(options, [&](irpverbs::dispatch::sim_machine& sim) {
        const mad_hca hca;
        const agent_scope it(hca);
        const ca_block attributes;
        captured seen;
        CI_CAPTURE* capture = nullptr;
        EXPECT_EQ(CiBeginCapture(write_to, &seen, &capture), STATUS_SUCCESS);
        EXPECT_EQ(CiCaptureHca(capture, hca.fdo, &attributes.ca), STATUS_SUCCESS);
        SIZE_T lost = 0;
        sim.spawn("receiver", [&] { it.report(1); });
        sim.spawn("capture", [&] { lost = CiEndCapture(capture); });
        refused = 0;
        refused_size = record_header + local_packet;
        sim.run();
        refused_size = 0;
        EXPECT_EQ(lost, refused);
        unseen += refused == 0 ? 1 : 0;
    });
    EXPECT_GT(unseen, 0u) << "no capture ended before the datagram came";
}
#endif

} // namespace
