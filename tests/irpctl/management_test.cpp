// irpctl mad, ping and stats: their requests, their output, and tshark's view of a capture.
#include "program.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace {

using namespace irpverbs::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace json = boost::json;

json::value response_to(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"mad", "--json"});
    const ended how = run(arguments);
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_TRUE(is_one_line(how.out));
    return json::parse(how.out);
}

/// A capture file of this test alone.
struct capture_path {
    ~capture_path() { std::filesystem::remove(path); }
    const std::string path =
        std::filesystem::temp_directory_path() /
        ("irpctl." + std::to_string(getpid()) + "." +
         ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pcap");
};

/// tshark's output for a capture: one line per packet, with these fields.
std::vector<std::string> packets(const std::string& path, const std::string& fields) {
    const std::string command = "tshark -r '" + path + "' -T fields " + fields + " 2>/dev/null";
    std::FILE* const out = popen(command.c_str(), "r");
    std::string text;
    for (int each = std::getc(out); each != EOF; each = std::getc(out))
        text += static_cast<char>(each);
    EXPECT_EQ(pclose(out), 0) << "tshark is required; tools/bootstrap installs it";
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);)
        lines.push_back(line);
    return lines;
}

// The number of packets that tshark cannot decode. (None of its fields says so.)
std::size_t malformed(const std::string& path) {
    std::vector<std::string> all = packets(path, "-e _ws.col.Info");
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [](const std::string& each) { return each.find("Malformed") != std::string::npos; }));
}

// The source, destination and protocol of each packet.
std::vector<std::string> decoded_by_tshark(const std::string& path) {
    EXPECT_EQ(malformed(path), 0u);
    return packets(path, "-e infiniband.lrh.slid -e infiniband.lrh.dlid -e infiniband.mad.method "
                         "-e infiniband.mad.attributeid -E separator=,");
}

TEST(IrpctlMad, KnownAttribute_IsDecoded) {
    const json::value node =
        response_to({"--class", "smp", "--attribute", "nodeinfo", "--lid", "3"});
    EXPECT_EQ(node.at("attribute"), "NodeInfo");
    EXPECT_EQ(node.at("method"), "GetResp");
    EXPECT_EQ(node.at("from_lid"), 3);
    EXPECT_EQ(node.at("records").at(0).at("NodeGUID"), "0x0200000000000200");
    const json::value counters = response_to(
        {"--attribute", "PortCounters", "--field", "PortSelect=1", "--lid", "4", "host1", "1"});
    EXPECT_EQ(counters.at("records").at(0).at("PortSelect"), 1);
}

// From one host's GID to another's: SGIDCount 1, DGIDCount 1, which the mask selects.
TEST(IrpctlMad, GetMultiRequest_ReturnsRecords) {
    const std::string header = std::string(30, '0') + "0101" + std::string(14, '0');
    const std::string default_prefix = "fe80000000000000";
    const json::value paths = response_to(
        {"--class", "sa", "--method", "GetMulti", "--attribute", "MultiPathRecord", "--mask",
         "0x180000", "--data",
         header + default_prefix + "0200000000000101" + default_prefix + "0200000000000201"});
    EXPECT_EQ(paths.at("method"), "GetMultiResp");
    EXPECT_GE(paths.at("records").as_array().size(), 1u);
}

TEST(IrpctlMad, DirectedRoute_ReachesNeighbour) {
    const json::value here = response_to({"--route", "", "--attribute", "NodeInfo"});
    EXPECT_EQ(here.at("records").at(0).at("NodeGUID"), "0x0200000000000100");
    const json::value neighbour = response_to({"--route", "1", "--attribute", "NodeInfo"});
    EXPECT_EQ(neighbour.at("records").at(0).at("NodeType"), 2); // a switch
}

TEST(IrpctlMad, UnknownAttribute_PrintedAsBytes) {
    const ended how = run({"mad", "--json", "--class", "0x30", "--oui", "0x1405", "--attribute",
                           "0x20", "--data", "0001", "--lid", "3"});
    EXPECT_EQ(how.status, 1); // no port has this LID
    const json::value refused = json::parse(how.out);
    EXPECT_EQ(refused.at("attribute"), "0x0020");
    EXPECT_EQ(refused.at("data").at(0).at("offset"), "0x000");
}

TEST(IrpctlMad, ResponseWithErrorStatus_ExitsWith1AndReason) {
    const ended how = run({"mad", "--class", "baseboard"});
    EXPECT_EQ(how.status, 1);
    EXPECT_THAT(how.out, HasSubstr("0x000c"));
    EXPECT_TRUE(is_one_line(how.err)) << how.err;
}

TEST(IrpctlMad, MethodWithoutResponse_IsSent) {
    for (const char* method : {"Send", "TrapRepress", "0x81", "0x86"}) {
        const capture_path file;
        const ended how =
            run({"mad", "--method", method, "--lid", "3", "--timeout", "1", "--pcap", file.path});
        EXPECT_EQ(how.status, 0) << method << how.err;
        EXPECT_THAT(how.out, StartsWith("sent"));
        EXPECT_EQ(decoded_by_tshark(file.path).size(), 1u) << method;
        const json::value output = response_to({"--method", method, "--lid", "3"});
        EXPECT_EQ(output, (json::object{{"sent", true}}));
    }
}

TEST(IrpctlMad, NoResponse_ExitsWith1AndOneLine) {
    const ended how = run({"mad", "--lid", "99", "--timeout", "5", "--retries", "1"});
    EXPECT_EQ(how.status, 1);
    EXPECT_EQ(how.out, "");
    EXPECT_THAT(how.err, HasSubstr("no response within 5 ms, asked 2 times"));
}

TEST(IrpctlMad, InvalidArguments_ExitsWith2AndOneLine) {
    const std::vector<std::vector<std::string>> wrong = {
        {"mad", "--class", "none"},
        {"mad", "--class", "0"},
        {"mad", "--class", "directed"},
        {"mad", "--method", "0x100"},
        {"mad", "--attribute", "NodeInfo"}, // an attribute of another class
        {"mad", "--modifier", "0x100000000"},
        {"mad", "--lid", "70000"},
        {"mad", "--lid", "1", "--route", "1"},
        {"mad", "--route", "1,,2"},
        {"mad", "--route", "256"},
        {"mad", "--field", "PortSelect"},
        {"mad", "--field", "NoSuchField=1"},
        {"mad", "--attribute", "PortCounters", "--field", "PortSelect=256"},
        {"mad", "--data", "0"},
        {"mad", "--data", "0g"},
        {"mad", "--data", std::string(1000, '0')},
        {"mad", "--mask", "1"},
        {"mad", "--key", "1"},
        {"mad", "--oui", "1"},
        {"mad", "--class", "0x30"},
        {"mad", "host1", "0"},
        {"mad", "--timeout", "0"},
        {"ping", "--count", "0"},
        {"ping", "--interval", "-1"},
        {"ping", "--lid", "0"},
        {"stats", "--count", "-1"},
    };
    for (const std::vector<std::string>& each : wrong) {
        const ended how = run(each);
        const std::string shown = ::testing::PrintToString(each);
        EXPECT_EQ(how.status, 2) << shown;
        EXPECT_EQ(how.out, "") << shown;
        EXPECT_TRUE(is_one_line(how.err)) << shown << how.err;
    }
}

TEST(IrpctlMad, HelpOption_PrintsPcapOption) {
    for (const char* each : {"mad", "ping", "stats"}) {
        const ended how = run({each, "--help"});
        EXPECT_EQ(how.status, 0);
        EXPECT_THAT(how.out, HasSubstr("--pcap"));
    }
}

TEST(IrpctlPing, SeveralPings_PrintsEachAndTotals) {
    const ended how =
        run({"--json", "ping", "host1", "--lid", "3", "--count", "3", "--interval", "0"});
    EXPECT_EQ(how.status, 0) << how.err;
    std::istringstream lines(how.out);
    std::string line;
    for (int sequence = 1; sequence <= 3; ++sequence) {
        std::getline(lines, line);
        const json::value one = json::parse(line);
        EXPECT_EQ(one.at("sequence"), sequence);
        EXPECT_EQ(one.at("responded"), true);
    }
    std::getline(lines, line);
    const json::value all = json::parse(line);
    EXPECT_EQ(all.at("sent"), 3);
    EXPECT_EQ(all.at("responded"), 3);
    EXPECT_EQ(all.at("lost"), 0);
    EXPECT_GT(all.at("milliseconds").at("max").as_double(), 0);
}

TEST(IrpctlPing, NoResponse_ExitsWith1) {
    const ended how =
        run({"ping", "--lid", "99", "--count", "2", "--interval", "0", "--timeout", "5"});
    EXPECT_EQ(how.status, 1);
    EXPECT_THAT(how.out, HasSubstr("2 sent, 0 responded (0 refused), 2 lost (100.0%)"));
    EXPECT_TRUE(is_one_line(how.err)) << how.err;
}

TEST(IrpctlPing, Interrupted_PrintsStatistics) {
    program pinging({"ping"});
    EXPECT_THAT(pinging.line(), StartsWith("response from LID 1: sequence 1"));
    pinging.send(SIGINT);
    const ended how = pinging.wait();
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_THAT(how.out, HasSubstr("1 sent, 1 responded"));
    EXPECT_THAT(how.err, HasSubstr("1 adapters closed"));
}

TEST(IrpctlStats, ResponsesAndTimeouts_AreCounted) {
    const auto statistics = [](std::vector<std::string> more) {
        // Without a subnet manager, whose messages use the same port.
        more.insert(more.begin(), {"--json", "--hca", "software:?static", "stats"});
        const ended how = run(more);
        EXPECT_EQ(how.status, 0) << how.err;
        return json::parse(how.out);
    };
    const json::value good = statistics({"--lid", "4", "--count", "100"});
    for (const char* whose : {"client", "port"}) {
        EXPECT_EQ(good.at(whose).at("messages_sent"), 100);
        EXPECT_EQ(good.at(whose).at("messages_received"), 100);
        EXPECT_EQ(good.at(whose).at("transactions"), 0);
    }
    const json::value lost =
        statistics({"--lid", "99", "--count", "3", "--timeout", "2", "--retries", "1"});
    EXPECT_EQ(lost.at("client").at("timeouts"), 3);
    EXPECT_EQ(lost.at("client").at("retries"), 3);
}

TEST(IrpctlPcap, EachDatagramBothWays_IsCapturedAndDecodedByTshark) {
    const capture_path file;
    EXPECT_EQ(run({"mad", "--lid", "3", "--pcap", file.path}).status, 0);
    EXPECT_EQ(decoded_by_tshark(file.path),
              (std::vector<std::string>{"1,3,0x01,0x0001", "3,1,0x81,0x0001"}));
    EXPECT_EQ(
        run({"ping", "--lid", "4", "--count", "2", "--interval", "0", "--pcap", file.path}).status,
        0);
    EXPECT_EQ(decoded_by_tshark(file.path).size(), 4u);
    EXPECT_EQ(run({"stats", "--lid", "4", "--count", "50", "--pcap", file.path}).status, 0);
    const std::vector<std::string> all = decoded_by_tshark(file.path);
    EXPECT_EQ(all.size(), 100u);
    for (const std::string& each : all)
        EXPECT_THAT(each, ::testing::AnyOf("1,4,0x01,0x0001", "4,1,0x81,0x0001"));
}

// The check of the tests above detects a malformed packet.
TEST(IrpctlPcap, TruncatedDatagram_IsMalformedForTshark) {
    const capture_path file;
    ASSERT_EQ(run({"mad", "--lid", "3", "--pcap", file.path}).status, 0);
    std::ifstream capture(file.path, std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(capture), {}};
    constexpr std::size_t file_header = 24;
    // lengths of the packet: captured, and on the wire
    constexpr std::size_t lengths_at = file_header + 8;
    constexpr std::size_t data_at = file_header + 16;
    constexpr char cut = 60;
    all.resize(data_at + cut);
    for (const std::size_t length : {lengths_at, lengths_at + 4})
        all.replace(length, 4, std::string{cut, 0, 0, 0});
    std::ofstream(file.path, std::ios::binary) << all;
    EXPECT_EQ(malformed(file.path), 1u);
}

// Every segment of a table is captured, and so are its acknowledgements.
TEST(IrpctlPcap, RmppAndVendorClasses_AreCaptured) {
    const capture_path file;
    EXPECT_EQ(run({"mad", "--class", "sa", "--method", "GetTable", "--attribute", "NodeRecord",
                   "--pcap", file.path})
                  .status,
              0);
    const std::vector<std::string> table = decoded_by_tshark(file.path);
    const auto count = [&](std::string_view method) {
        return std::ranges::count_if(
            table, [&](const std::string& each) { return each.find(method) != std::string::npos; });
    };
    EXPECT_GE(count(",0x92,0x0011"), 2); // 4 nodes of 108 bytes take more than one segment
    EXPECT_GE(count(",0x12,0x0011"), 2); // the request, and at least one ACK
    const std::vector<std::string> rmpp =
        packets(file.path, "-e infiniband.rmpp.rmpptype -e infiniband.rmpp.segmentnumber "
                           "-E separator=,");
    EXPECT_THAT(rmpp, ::testing::Contains("0x01,0x00000001"));
    EXPECT_THAT(rmpp, ::testing::Contains("0x01,0x00000002"));
    EXPECT_EQ(run({"mad", "--class", "0x30", "--oui", "0x1405", "--attribute", "0x20", "--lid", "3",
                   "--pcap", file.path})
                  .status,
              1);
    EXPECT_EQ(decoded_by_tshark(file.path).size(), 2u);
}

// The messages of a connection, in their order, and no malformed packet beside them.
TEST(IrpctlPcap, Connection_ItsMessagesAreDecoded) {
    const capture_path file;
    const ended how = run({"cm", "connect", "--pcap", file.path});
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_EQ(malformed(file.path), 0u);
    std::string attributes;
    for (const std::string& each : packets(file.path, "-e infiniband.mad.mgmtclass "
                                                      "-e infiniband.mad.attributeid "
                                                      "-E separator=,"))
        if (each.starts_with("0x07,")) attributes += each.substr(5) + ' ';
    // REQ, REP, RTU, DREQ, DREP
    EXPECT_EQ(attributes, "0x0010 0x0013 0x0014 0x0015 0x0016 ");
}

TEST(IrpctlPcap, DirectedRoute_IsCaptured) {
    const capture_path file;
    EXPECT_EQ(run({"mad", "--route", "1", "--attribute", "NodeInfo", "--pcap", file.path}).status,
              0);
    EXPECT_EQ(malformed(file.path), 0u);
    EXPECT_EQ(packets(file.path, "-e infiniband.lrh.vl -e infiniband.lrh.slid "
                                 "-e infiniband.bth.destqp -E separator=,"),
              (std::vector<std::string>{"0x0f,65535,0x000000", "0x0f,65535,0x000000"}));
}

TEST(IrpctlPcap, ProgramKilled_SentDatagramsAreCaptured) {
    const capture_path file;
    {
        program pinging({"ping", "--lid", "3", "--interval", "0.01", "--pcap", file.path});
        for (int i = 0; i < 5; ++i)
            pinging.line();
        pinging.send(SIGKILL);
        EXPECT_EQ(pinging.wait().signal, SIGKILL);
    }
    // The last ping's datagrams may not have left the program yet.
    EXPECT_GE(decoded_by_tshark(file.path).size(), 8u);
}

TEST(IrpctlPcap, UnwritableFile_ExitsWith1) {
    for (const char* path : {"/no/such/folder/x.pcap", "/", "/dev/full"}) {
        const ended how = run({"mad", "--pcap", path});
        EXPECT_EQ(how.status, 1) << path;
        EXPECT_TRUE(is_one_line(how.err)) << how.err;
        EXPECT_THAT(how.err, HasSubstr(path));
    }
}

} // namespace
