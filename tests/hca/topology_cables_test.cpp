// A subnet manager finds the nodes and cables of the fabric's file.
#include "subnet_client.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace {

using namespace irpverbs::testing;

const std::filesystem::path checked_in = TOPOLOGIES;
const std::filesystem::path debians = "/usr/share/doc/ibsim-utils/net-examples";

/// Each cable as "node[port] node[port]", independent of the end from which it was found.
class cables : public std::set<std::string> {
public:
    void add(const std::string& one, unsigned port, const std::string& other, unsigned its_port) {
        const std::string here = one + '[' + std::to_string(port) + ']';
        const std::string there = other + '[' + std::to_string(its_port) + ']';
        insert(std::min(here, there) + ' ' + std::max(here, there));
    }
};

// In ibsim's files a node's id is its name; ibnetdiscover's files have the name in a comment behind
// the id.
cables written_in(const std::filesystem::path& file) {
    const std::regex node(R"re(^(?:Switch|Hca|Ca)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]+)")?.*)re");
    const std::regex end(R"re(^\[(\d+)\][^"]*"([^"]+)"\s*\[(\d+)\].*)re");
    std::map<std::string, std::string> names;
    struct written_end {
        std::string node;
        unsigned port;
        std::string peer;
        unsigned its_port;
    };
    std::vector<written_end> ends;
    std::ifstream in(file);
    std::string current;
    std::smatch seen;
    for (std::string line; std::getline(in, line);) {
        if (std::regex_match(line, seen, node)) {
            current = seen[1];
            names[current] = seen[2].matched ? seen[2] : seen[1];
        } else if (std::regex_match(line, seen, end)) {
            ends.push_back({current, static_cast<unsigned>(std::stoul(seen[1])), seen[2],
                            static_cast<unsigned>(std::stoul(seen[3]))});
        }
    }
    cables all;
    for (const written_end& each : ends)
        all.add(names.at(each.node), each.port, names.at(each.peer), each.its_port);
    return all;
}

/// Walks from port to port by directed routes, which lead through switches and end at hosts.
class walk {
public:
    explicit walk(IB_CA* from) : client_(from) { traverse(node_at({}), {}, 1); }
    const cables& found() const { return found_; }

private:
    using way = std::vector<UCHAR>;
    struct node {
        std::string name;
        ib_guid_t guid;
        bool is_switch;
        UCHAR ports, entered_by;
    };

    mad get(const way& to, USHORT attribute, ULONG modifier = 0) {
        const mad response = client_.ask(directed_smp(get_method, attribute, modifier, to));
        EXPECT_EQ(response.status(), 0);
        return response;
    }
    node node_at(const way& to) {
        const mad info = get(to, sm_node_info);
        const mad name = get(to, sm_node_description);
        return {reinterpret_cast<const char*>(&name[smp_data]), info.get<8>(smp_data + 12),
                info[smp_data + 2] == IB_NODE_SWITCH, info[smp_data + 3], info[smp_data + 36]};
    }
    void traverse(const node& from, way by, UCHAR port) {
        by.push_back(port);
        const node next = node_at(by);
        found_.add(from.name, port, next.name, next.entered_by);
        if (!next.is_switch || !known_.insert(next.guid).second) return;
        for (UCHAR out = 1; out <= next.ports; ++out)
            if (get(by, sm_port_info, out)[smp_data + 33] >> 4 == IB_PORT_PHYS_LINK_UP)
                traverse(next, by, out);
    }

    subnet_client client_;
    std::set<ib_guid_t> known_;
    cables found_;
};

cables found_in(const std::filesystem::path& file) {
    const attached hcas("software:" + file.string());
    const open_hca first(hcas.fdo());
    return walk(first).found();
}

void expect_found_as_written(const std::filesystem::path& file) {
    const cables written = written_in(file);
    EXPECT_FALSE(written.empty()) << file;
    EXPECT_EQ(found_in(file), written) << file;
}

TEST(TopologyCables, CheckedInFile_DiscoveryFindsItsCables) {
    for (const char* name : {"one_switch.ibnetdiscover", "two_leaves.ibnetdiscover",
                             "two_leaves.full", "two_leaves.grouped", "two_leaves.net"})
        expect_found_as_written(checked_in / name);
}

TEST(TopologyCables, DiscoveredAndGeneratedFile_HaveSameCables) {
    EXPECT_EQ(found_in(checked_in / "two_leaves.ibnetdiscover"),
              found_in(checked_in / "two_leaves.net"));
}

TEST(TopologyCables, IbsimExample_DiscoveryFindsItsCables) {
    if (!std::filesystem::is_directory(debians))
        GTEST_SKIP() << "ibsim-utils is not installed, or without its documentation";
    for (const char* name :
         {"net", "net.1", "net.2sw2path", "net.2sw2path4hca", "net.2sw2path4hca2port"})
        expect_found_as_written(debians / name);
}

} // namespace
