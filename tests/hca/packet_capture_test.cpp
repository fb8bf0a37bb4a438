// Captures of the packets of queue pairs.
#include "connected_end.hpp"

#include <support/both_machines.hpp>
#include <support/dissection.hpp>

#include <ci/capture.hpp>

#include <transport/packet_format.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
namespace transport = irpverbs::hca_software::transport;
using transport::operation;

constexpr std::size_t file_header = 24;
constexpr std::size_t record_header = 16 + 16; // of pcap, and of ERF

class PacketCapture : public BothMachines {
protected:
    void capture(unsigned hca) {
        file.emplace([this](std::span<const std::byte> part) {
            bytes.insert(bytes.end(), part.begin(), part.end());
        });
        const open_hca ca(hcas.fdo(hca));
        union {
            IB_CA_ATTR attributes;
            UCHAR room[4096];
        } block;
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryCa(ca, sizeof(block), &block.attributes, irp);
                  }).status(),
                  STATUS_SUCCESS);
        EXPECT_EQ(file->add(hcas.fdo(hca), block.attributes), STATUS_SUCCESS);
    }
    void connect() {
        one.emplace(hcas.fdo(0));
        two.emplace(hcas.fdo(1));
        one->connect(*two);
        two->connect(*one);
    }
    void execute(ib_send_wr_t what) {
        EXPECT_EQ(one->post(what), STATUS_SUCCESS);
        EXPECT_EQ(one->next().Status, ULONG{IB_WC_SUCCESS});
    }
    /// The packets of the file; both CRCs of each are right.
    std::vector<transport::frame> packets() {
        file->end();
        EXPECT_EQ(file->lost(), 0u);
        std::vector<transport::frame> all;
        for (std::size_t at = file_header; at < bytes.size();) {
            const std::size_t size = std::size_t{std::to_integer<UCHAR>(bytes[at + 8])} |
                                     std::size_t{std::to_integer<UCHAR>(bytes[at + 9])} << 8;
            const auto* packet = reinterpret_cast<const UCHAR*>(&bytes[at + record_header]);
            const auto parsed = transport::parse_frame({packet, size - (record_header - 16)});
            EXPECT_TRUE(parsed);
            if (parsed) all.push_back(*parsed);
            at += 16 + size;
        }
        return all;
    }

    attached hcas;
    std::vector<std::byte> bytes;
    std::optional<ci::capture> file;
    std::optional<connected_end> one;
    std::optional<connected_end> two;
};

TEST_P(PacketCapture, WriteOfThreePackets_IsRecordedWithItsAcknowledgement) {
    for (const unsigned captured : {0u, 1u}) {
        capture(captured);
        connect();
        execute(one->remote(WR_RDMA_WRITE, 1, *two, 3000));
        const std::vector<transport::frame> seen = packets();
        ASSERT_EQ(seen.size(), 4u);
        for (unsigned i = 0; i < 3; ++i) {
            EXPECT_EQ(seen[i].content.row().what, operation::write);
            EXPECT_EQ(seen[i].content.number.value(), (connected_end::first_psn + i) & 0xFFFFFF);
            EXPECT_EQ(seen[i].content.to_qp, two->qp->Num);
            EXPECT_EQ(seen[i].content.pkey, IB_PKEY_DEFAULT_FULL);
            EXPECT_EQ(seen[i].route.from.lid, one->lid());
            EXPECT_EQ(seen[i].route.to.lid, two->lid());
        }
        EXPECT_EQ(seen[0].content.rdma.length, 3000u);
        EXPECT_EQ(seen[2].content.content.size(), 3000u - 2 * 1024);
        EXPECT_EQ(seen[3].content.row().what, operation::acknowledge);
        EXPECT_EQ(seen[3].route.from.lid, two->lid());
        one.reset();
        two.reset();
        bytes.clear();
        file.reset();
    }
}

TEST_P(PacketCapture, EndedCapture_RecordsNothing) {
    capture(0);
    connect();
    file->end();
    execute(one->remote(WR_RDMA_WRITE, 1, *two, 100));
    EXPECT_EQ(bytes.size(), file_header);
}

TEST_P(PacketCapture, EachOperation_IsDissectedWithoutErrors) {
    capture(0);
    connect();
    EXPECT_EQ(two->post_receive(1, 3000), STATUS_SUCCESS);
    for (const ib_wr_type_t type : {WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ})
        execute(one->remote(type, 1, *two, 2500));
    for (const ib_wr_type_t type : {WR_FETCH_ADD, WR_COMPARE_SWAP})
        execute(one->remote(type, 1, *two, 8));
    for (connected_end* end : {&*one, &*two})
        EXPECT_EQ(end->rearm(end->attributes().primary_av), STATUS_SUCCESS);
    execute(one->remote(WR_RDMA_WRITE, 1, *two, 2500));
    const std::vector<transport::frame> all = packets();
    constexpr std::size_t before = 4 + 4 + 4 + 2 + 2;
    const std::size_t count = all.size();
    EXPECT_EQ(count, before + 4);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(all[i].content.migrated, i < before);
    const std::string path = ::testing::TempDir() + "packet_capture_" +
                             (simulated() ? "simulated_" : "real_") + std::to_string(getpid());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    expect_no_errors(path, count);
    std::filesystem::remove(path);
}

IRPVERBS_ON_BOTH_MACHINES(PacketCapture);

} // namespace
