// irpctl sa, paths, fabric and events --subnet on the software fabric and its subnet manager.
#include "program.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace {

using namespace irpverbs::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace json = boost::json;

std::vector<json::value> values(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const ended how = run(std::move(arguments));
    EXPECT_EQ(how.status, 0) << how.err;
    std::vector<json::value> found;
    std::istringstream lines(how.out);
    for (std::string line; std::getline(lines, line);)
        found.push_back(json::parse(line));
    return found;
}

std::set<std::string> names(const std::vector<json::value>& records, const char* field) {
    std::set<std::string> found;
    for (const json::value& each : records)
        found.insert(std::string(each.at(field).as_string()));
    return found;
}

TEST(IrpctlSa, EachRecordName_PrintsOneRecordPerLine) {
    const std::pair<const char*, std::size_t> counts[]{
        {"NodeRecord", 7},       {"node", 7},  {"smi", 1},   {"link", 14},
        {"SwitchInfoRecord", 2}, {"guid", 28}, {"path", 49}, {"classportinfo", 1}};
    for (const auto& [name, count] : counts)
        EXPECT_EQ(values({"sa", name}).size(), count) << name;
    EXPECT_GT(values({"sa", "PortInfoRecord"}).size(), 7u);
    EXPECT_GT(values({"sa", "pkey", "--key", "1"}).size(), 4u);
    EXPECT_EQ(names(values({"sa", "node"}), "NodeDescription").count("switch1"), 1u);
}

TEST(IrpctlSa, FieldOption_SelectsRecords) {
    EXPECT_EQ(values({"sa", "node", "--field", "LID=3"}).at(0).at("NodeDescription"), "host2");
    EXPECT_EQ(values({"sa", "node", "--field", "NodeType=Switch"}).size(), 2u);
    EXPECT_EQ(values({"sa", "path", "--field", "SLID=1", "--field", "DLID=4"}).size(), 1u);
    EXPECT_EQ(values({"sa", "node", "--field", "LID=99"}).size(), 0u);
    EXPECT_EQ(run({"sa", "node", "--field", "LID=99"}).out, "no record matches\n");
}

TEST(IrpctlSa, MultiPathRecord_ReturnsPathsToEachDestination) {
    const auto paths = values({"sa", "multipath", "--field", "SGID=fe80::200:0:0:101", "--field",
                               "DGID=fe80::200:0:0:201", "--field", "DGID=fe80::200:0:0:301"});
    EXPECT_EQ(names(paths, "DGID"),
              (std::set<std::string>{"fe80::200:0:0:201", "fe80::200:0:0:301"}));
}

TEST(IrpctlSa, NoRecordOrFieldsOption_ListsNames) {
    EXPECT_THAT(run({"sa"}).out, HasSubstr("MCMemberRecord"));
    const std::string fields = run({"sa", "port", "--fields"}).out;
    EXPECT_THAT(fields, HasSubstr("PortState"));
    EXPECT_THAT(fields, HasSubstr("Active"));
}

TEST(IrpctlSa, InvalidArguments_ExitsWith2AndOneLine) {
    const std::vector<std::vector<std::string>> wrong = {
        {"sa", "nonsense"},
        {"sa", "p"}, // the prefix of three names
        {"sa", "path", "--field", "DLID"},
        {"sa", "path", "--field", "DLID=x"},
        {"sa", "path", "--field", "NoSuch=1"},
        {"sa", "multipath"},
        {"sa", "path", "--timeout", "0"},
        {"fabric", "--dot", "--svg"},
    };
    for (const std::vector<std::string>& each : wrong) {
        const ended how = run(each);
        EXPECT_EQ(how.status, 2) << ::testing::PrintToString(each);
        EXPECT_EQ(how.out, "");
        EXPECT_TRUE(is_one_line(how.err)) << how.err;
    }
}

TEST(IrpctlSa, SaUnavailableOrRecordUnsupported_ExitsWith1AndOneLine) {
    const ended alone = run({"--hca", "software:?static", "paths", "--timeout", "20"});
    EXPECT_EQ(alone.status, 1);
    EXPECT_THAT(alone.err, HasSubstr("does not respond"));
    const ended inactive = run({"--hca", "software:?unmanaged", "sa", "node"});
    EXPECT_EQ(inactive.status, 1);
    EXPECT_THAT(inactive.err, HasSubstr("not active"));
    const ended refused = run({"sa", "trace"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("does not serve that record"));
}

TEST(IrpctlPaths, PathsCommand_ReachesEveryPort) {
    const json::array all = values({"paths", "host2"}).at(0).as_array();
    ASSERT_EQ(all.size(), 7u);
    for (const json::value& each : all) {
        EXPECT_TRUE(each.at("reached").as_bool()) << each;
        EXPECT_EQ(each.at("Mtu"), "4096");
    }
    EXPECT_EQ(all[0].at("to"), "host1");
    EXPECT_THAT(run({"paths"}).out, HasSubstr("host4    1     0x0200000000000401  5"));
}

/// A partitions.conf file of this test alone.
struct partitions_file {
    explicit partitions_file(const std::string& text) { std::ofstream(path) << text; }
    ~partitions_file() { std::filesystem::remove(path); }
    const std::string path = ::testing::TempDir() + "irpctl." + std::to_string(getpid()) + ".conf";
};

TEST(IrpctlPartitions, LimitedMembership_RestrictsPaths) {
    const partitions_file apart("Default=0x7fff : ALL=limited, SELF=full ;\n");
    const json::array from_host2 =
        values({"--partitions", apart.path, "paths", "host2"}).at(0).as_array();
    ASSERT_EQ(from_host2.size(), 2u); // the SA hides the other ports
    EXPECT_EQ(from_host2[0].at("to"), "host1");
    EXPECT_TRUE(from_host2[0].at("reached").as_bool()); // the subnet manager's port
    EXPECT_EQ(from_host2[1].at("to"), "host2");
    EXPECT_FALSE(from_host2[1].at("reached").as_bool()); // a limited member
}

TEST(IrpctlLmc, OfTheSubnetManager_EachPortHasThatManyLids) {
    EXPECT_EQ(values({"--lmc", "2", "port", "host3"}).at(0).at("lmc"), 2);
    EXPECT_EQ(values({"--lmc", "2", "sa", "PathRecord", "host3", "--field",
                      "SGID=fe80::200:0:0:201", "--field", "DGID=fe80::200:0:0:301"})
                  .size(),
              16u);
    EXPECT_EQ(run({"--lmc", "8", "devices"}).status, 2);
    EXPECT_EQ(run({"--hca", "software:?static", "--lmc", "1", "devices"}).status, 2);
}

TEST(IrpctlPartitions, InvalidPartitionsFile_ExitsWith1AndLineNumber) {
    const partitions_file wrong("Default=0x7fff : ALL=full ;\nsomething else\n");
    const ended read = run({"--partitions", wrong.path, "devices"});
    EXPECT_EQ(read.status, 1);
    EXPECT_THAT(read.err, HasSubstr(wrong.path + ":2: "));
    EXPECT_TRUE(is_one_line(read.err)) << read.err;
    EXPECT_EQ(run({"--partitions", "/no/such/file", "devices"}).status, 1);
    EXPECT_EQ(run({"--hca", "software:?static", "--partitions", wrong.path, "devices"}).status, 2);
}

TEST(IrpctlFabric, FabricCommand_PrintsNodesLinksAndMaster) {
    const std::string text = run({"fabric"}).out;
    EXPECT_THAT(text, StartsWith("2 switches, 4 hosts, 7 links\n"
                                 "subnet manager: host1 port 1, LID 1 (Master)\n"));
    EXPECT_THAT(text, HasSubstr("7     Active  4X QDR   switch2 port 7"));
    const json::value output = values({"fabric"}).at(0);
    EXPECT_EQ(output.at("links"), 7);
    EXPECT_EQ(output.at("nodes").as_array().size(), 6u);
}

TEST(IrpctlFabric, DotOrSvgOption_DrawsFabric) {
    const std::string dot = run({"fabric", "--dot"}).out;
    EXPECT_THAT(dot, StartsWith("graph fabric {"));
    EXPECT_THAT(dot, HasSubstr("n0 -- n1 [taillabel=7 headlabel=7 label=\"4X QDR\""));
    const std::string svg = run({"fabric", "--svg"}).out;
    EXPECT_THAT(svg, StartsWith("<svg "));
    EXPECT_THAT(svg, HasSubstr("switch1 port 1 - host1 port 1: 4X QDR Active"));
}

TEST(IrpctlEvents, SubnetOption_PrintsGidOutOfService) {
    const auto output = values({"events", "--subnet", "--provoke", "--count", "5"});
    std::set<std::string> seen;
    for (const json::value& each : output)
        if (const json::value* const about = each.as_object().if_contains("about"))
            seen.insert(std::string(each.at("event").as_string()) + " " +
                        std::string(about->as_string()));
    EXPECT_EQ(seen.count("GID_OUT_OF_SERVICE fe80::200:0:0:401 (host4 port 1)"), 1u);
}

TEST(IrpctlEvents, SubnetOption_EndsAtTimeLimitOrInterrupt) {
    EXPECT_EQ(run({"events", "--subnet", "--for", "0.1"}).status, 0);
    program events({"events", "--subnet"});
    EXPECT_THAT(events.line(), StartsWith("TIME"));
    events.send(SIGINT);
    const ended how = events.wait();
    EXPECT_EQ(how.status, 0);
    EXPECT_THAT(how.err, HasSubstr("4 adapters closed"));
}

} // namespace
