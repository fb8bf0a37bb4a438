// tshark's view of the transport's packets.
#include "simulated_pair.hpp"

#include <support/dissection.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

using namespace irpverbs::testing;
using transport::max_frame_size;
using transport::row_of;
using transport::write_frame;

/// A capture that tshark reads: pcap with records of ERF, type 21 (InfiniBand).
class capture_file {
public:
    capture_file() : out_(path, std::ios::binary) {
        put(0xA1B2C3D4, 4);
        put(0x00020004, 4);
        put(0, 8);
        put(0xFFFF, 4);
        put(197, 4); // ERF
    }
    ~capture_file() { std::filesystem::remove(path); }
    capture_file(const capture_file&) = delete;
    capture_file& operator=(const capture_file&) = delete;

    void add(const std::vector<UCHAR>& frame) {
        const std::size_t record = 16 + frame.size();
        put(0, 8); // time
        put(record, 4);
        put(record, 4);
        put(0, 8);
        put(21, 1);
        put(4, 1); // varying length
        put(record, 2);
        put(0, 2);
        put(frame.size(), 2);
        out_.write(reinterpret_cast<const char*>(frame.data()),
                   static_cast<std::streamsize>(frame.size()));
        out_.flush();
    }

    const std::string path =
        testing::TempDir() + "transport_dissection_" + std::to_string(getpid()) + ".pcap";

private:
    void put(std::uint64_t value, unsigned bytes) {
        while (bytes-- != 0)
            out_.put(static_cast<char>(value >> 8 * bytes));
    }
    std::ofstream out_;
};

/// Adds a packet of each opcode in [first, end) that Wireshark 4.0 knows, and returns the opcodes
/// and packet numbers.
std::vector<std::string> add_opcodes(capture_file& file, unsigned first, unsigned end) {
    const std::vector<UCHAR> content(64, 0x5A);
    std::vector<std::string> wanted;
    for (unsigned code = first; code < end; ++code) {
        packet what;
        what.opcode = static_cast<UCHAR>(code);
        const operation kind = what.row().what;
        if (kind == operation::reserved || kind == operation::atomic_write) continue;
        what.to_qp = 0x123456;
        what.datagram.from_qp = 0x654321;
        what.number = psn(0x010000 + code);
        if (what.row().payload != transport::payload_rule::none) what.content.append(content);
        std::vector<UCHAR> frame(max_frame_size);
        frame.resize(write_frame({}, what, frame));
        file.add(frame);
        wanted.push_back(std::to_string(code) + "," + std::to_string(what.number.value()));
    }
    return wanted;
}

constexpr const char* base_fields =
    "-T fields -e infiniband.bth.opcode -e infiniband.bth.psn -E separator=,";

TEST(Dissection, EveryOpcode_FieldsAsWritten) {
    capture_file file;
    const std::vector<std::string> wanted = add_opcodes(file, 0, 0x80);
    EXPECT_EQ(dissect(file.path, base_fields), wanted);
    expect_no_errors(file.path, wanted.size());
}

// Wireshark 4.0 names the opcodes of XRC, and dissects no header behind the base transport header.
TEST(Dissection, OpcodesOfXrc_BaseFieldsAsWritten) {
    capture_file file;
    const std::vector<std::string> wanted = add_opcodes(file, 0xA0, 0xC0);
    EXPECT_EQ(wanted.size(), 23u);
    EXPECT_EQ(dissect(file.path, base_fields), wanted);
}

TEST(Dissection, PacketsOfAConversation_NoErrors) {
    capture_file file;
    simulated_pair pair;
    std::size_t count = 0;
    pair.on_bytes = [&](const std::vector<UCHAR>& frame) { file.add(frame), ++count; };
    pair.connect();
    region& local = pair.one().memory.add(4096);
    region& remote = pair.two().memory.add(4096);
    ib_local_ds_t part = segment_of(local, 1000);
    ib_local_ds_t word = segment_of(local, 8);
    for (const ib_wr_type_t type : {WR_RDMA_WRITE, WR_RDMA_READ, WR_SEND})
        EXPECT_EQ(pair.one().send(remote_request(type, part, remote)), STATUS_SUCCESS);
    for (const ib_wr_type_t type : {WR_FETCH_ADD, WR_COMPARE_SWAP})
        EXPECT_EQ(pair.one().send(remote_request(type, word, remote)), STATUS_SUCCESS);
    pair.run(3); // not ready
    EXPECT_EQ(pair.two().receive(1, remote, 1000), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(pair.one().sent.size(), 5u);
    expect_no_errors(file.path, count);
}

} // namespace
