// Outputs of every command, byte for byte, on the built-in fabric and on one whose node
// descriptions have bytes of all kinds. IRPCTL_WRITE_GOLDEN=1 writes the files anew; review the
// differences.
#include "program.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace {

using namespace irpverbs::testing;
namespace fs = std::filesystem;

struct golden_case {
    const char* name;
    std::vector<std::string> words;
    int status = 0;
    bool has_json = true;
};

// Removes times and counts that depend on the machine.
std::string without_times(const std::string& text) {
    static const std::pair<std::regex, const char*> rules[] = {
        {std::regex(R"re("(time|milliseconds|min|max|average|deviation|typical|99 percent|)re"
                    R"re(99.9 percent|peak|messages)":[-+.0-9E]+)re"),
         "\"$1\":0"},
        {std::regex(
             R"((min|average|max|deviation|typical|percent|peak|messages) [0-9]+\.[0-9]{3})"),
         "$1 0"},
        {std::regex(R"(milliseconds +[0-9]+\.[0-9]{3})"), "milliseconds  0"},
        {std::regex(R"(, [0-9]+\.[0-9]{3} ms)"), ", 0 ms"},
        {std::regex(R"((^|\n)[0-9]+\.[0-9]{6} )"), "$010.000000 "},
        {std::regex(R"re((ActCount"?):( ?)[0-9]+)re"), "$1:$020"},
    };
    std::string made = text;
    for (const auto& [what, instead] : rules)
        made = std::regex_replace(made, what, instead);
    return made;
}

std::string read_all(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool writes_golden() { return std::getenv("IRPCTL_WRITE_GOLDEN") != nullptr; }

// Checks that no byte controls a terminal, and that the text is UTF-8 throughout.
void expect_safe(const std::string& text) {
    EXPECT_TRUE(std::ranges::none_of(
        text, [](unsigned char each) { return (each < 0x20 && each != '\n') || each == 0x7F; }));
    EXPECT_EQ(text.find("\xC2\x80"), text.npos);
    EXPECT_EQ(text.find("\xC2\x9B"), text.npos);
    // Boost.JSON checks UTF-8.
    std::string as_json = "\"";
    for (const char each : text)
        as_json += each == '\n' || each == '"' || each == '\\' ? '.' : each;
    EXPECT_NO_THROW(static_cast<void>(boost::json::parse(as_json + '"')));
}

void expect_golden(const fs::path& file, const golden_case& which, const std::string& hca,
                   bool json) {
    std::vector<std::string> words{"--hca", hca};
    if (json) words.emplace_back("--json");
    words.insert(words.end(), which.words.begin(), which.words.end());
    const ended how = run(words);
    EXPECT_EQ(how.status, which.status) << how.err;
    EXPECT_EQ(how.err.empty(), which.status == 0) << how.err;
    expect_safe(how.out);
    const std::string seen = without_times(how.out) + how.err;
    if (writes_golden()) {
        fs::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << seen;
    }
    EXPECT_EQ(seen, read_all(file)) << file;
}

void expect_all_golden(const std::string& folder, const std::vector<golden_case>& cases,
                       const std::string& hca) {
    for (const golden_case& each : cases)
        for (const bool json : {false, true}) {
            SCOPED_TRACE(each.name);
            if (json && !each.has_json) continue;
            const char* const ending = json ? ".json" : ".txt";
            expect_golden(fs::path(GOLDEN) / folder / (std::string(each.name) + ending), each, hca,
                          json);
        }
}

const std::string prefix = "fe80000000000000";

TEST(IrpctlGolden, DefaultFabric_EveryCommand_AsBefore) {
    const std::string multipath = std::string(30, '0') + "0101" + std::string(14, '0') + prefix +
                                  "0200000000000101" + prefix + "0200000000000201";
    expect_all_golden(
        "default",
        {{"devices", {"devices"}},
         {"devices-all", {"devices", "--all"}},
         {"port", {"port"}},
         {"port-by-number", {"port", "2"}},
         {"events", {"events", "--provoke", "--count", "2"}},
         {"mad-classportinfo", {"mad", "--lid", "3"}},
         {"mad-route", {"mad", "--route", "1", "--attribute", "NodeInfo"}},
         {"mad-counters",
          {"mad", "host4", "--attribute", "PortCounters", "--field", "PortSelect=1"}},
         {"mad-table",
          {"mad", "--class", "sa", "--method", "GetMulti", "--attribute", "MultiPathRecord",
           "--mask", "0x180000", "--data", multipath}},
         {"mad-sent", {"mad", "--method", "Send", "--lid", "3"}},
         {"mad-refused", {"mad", "--class", "baseboard"}, 1},
         {"mad-bytes",
          {"mad", "--class", "0x30", "--oui", "0x1405", "--attribute", "0x20", "--data", "0001",
           "--lid", "3"},
          1},
         {"ping", {"ping", "--count", "2", "--interval", "0", "--lid", "3"}},
         {"qp", {"qp", "--count", "20"}},
         {"qp-bandwidth",
          {"qp", "host1", "--to", "host4", "--operation", "write", "--size", "65536", "--count",
           "100", "--bandwidth"}},
         {"qp-atomics", {"qp", "--operation", "compare-swap", "--count", "20"}},
         {"qp-datagrams", {"qp", "--service", "ud", "--operation", "send-imm", "--count", "20"}},
         {"qp-refused", {"qp", "--service", "ud", "--operation", "read"}, 2},
         {"cm-connect", {"cm", "connect", "host1", "--to", "host3", "--text", "over the fabric"}},
         {"cm-text", {"cm", "connect", "--text", std::string(65, 'x')}, 2},
         {"cm-port", {"cm", "listen", "host1", "9"}, 1},
         {"ping-vendor", {"ping", "--vendor", "--count", "1", "--lid", "3", "--timeout", "20"}},
         {"stats", {"stats", "host4"}},
         {"sa", {"sa"}, 0, false},
         {"sa-fields", {"sa", "node", "--fields"}, 0, false},
         {"sa-node", {"sa", "node"}},
         {"sa-link", {"sa", "link"}},
         {"sa-smi", {"sa", "smi"}},
         {"sa-path", {"sa", "path", "--field", "SLID=1", "--field", "DLID=4"}},
         {"sa-none", {"sa", "node", "--field", "LID=99"}},
         {"sa-unserved", {"sa", "trace"}, 1},
         {"paths", {"paths", "host2"}},
         {"fabric", {"fabric"}},
         {"fabric-dot", {"fabric", "--dot"}, 0, false},
         {"fabric-svg", {"fabric", "--svg"}, 0, false},
         {"fabric-lmc", {"--lmc", "1", "fabric"}}},
        "software:");
}

/// A fabric of one switch, whose hosts have descriptions that are hard to print.
class hostile_topology {
public:
    hostile_topology() {
        const std::array<std::string, 10> names{"\"tab\there\"",
                                                "\"$(reboot) `id` ; rm -rf / & %n%s '\"",
                                                "\"h\xC3\xB4te-\xCE\xBB-\xE6\x9C\xAC\"",
                                                "\"\x1B]0;owned\x07\x1B[31mred\"",
                                                "\"c1\xC2\x9B"
                                                "31m raw\x9B"
                                                "31m bad\xFF\xC3 del\x7F\"",
                                                "\"\"",
                                                '"' + std::string(64, 'x') + '"',
                                                '"' + std::string(63, 'x') +
                                                    "\xC3\"", // the first byte of two
                                                "\"<a&b>\"",
                                                "says \"quoted\" {0} \\n"};
        std::ofstream file(path_, std::ios::binary);
        file << "Switch 12 \"S-1\" # \"leaf <&> \\\\ \xE2\x82\xAC\" enhanced port 0\n";
        for (std::size_t i = 1; i <= names.size(); ++i)
            file << '[' << i << "] \"H-" << i << "\"[1]\n";
        for (std::size_t i = 1; i <= names.size(); ++i)
            file << "\nCa 1 \"H-" << i << "\" # " << names[i - 1] << "\n[1] \"S-1\"[" << i << "]\n";
    }
    ~hostile_topology() { fs::remove(path_); }
    hostile_topology(const hostile_topology&) = delete;
    hostile_topology& operator=(const hostile_topology&) = delete;

    std::string uri() const { return "software:" + path_; }

private:
    const std::string path_ = ::testing::TempDir() + "irpctl_nasty_" + std::to_string(getpid());
};

TEST(IrpctlGolden, NastyNames_EveryCommand_SafeAndAsBefore) {
    const hostile_topology nasty;
    std::vector<golden_case> cases{
        {"devices", {"devices"}},
        {"port-nameless", {"port", "0x0200000000000700"}},
        {"port-missing", {"port", "\x1B[31m\xFF"}, 1},
        {"port-beyond", {"port", "0x0200000000000500", "2"}, 1},
        {"events", {"events", "--provoke", "--count", "2"}},
        {"sa-node", {"sa", "node"}},
        {"paths", {"paths"}},
        {"fabric", {"fabric"}},
        {"fabric-dot", {"fabric", "--dot"}, 0, false},
        {"fabric-svg", {"fabric", "--svg"}, 0, false},
    };
    static const std::array numbers{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"};
    static std::array<std::string, numbers.size()> names;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        names[i] = std::string("mad-description-") + numbers[i];
        cases.push_back(
            {names[i].c_str(),
             {"mad", "--class", "smp", "--attribute", "NodeDescription", "--lid", numbers[i]}});
    }
    expect_all_golden("nasty", cases, nasty.uri());
}

} // namespace
