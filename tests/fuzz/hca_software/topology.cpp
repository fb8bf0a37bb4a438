// Parses any text as a topology file. The result is a topology whose links have two ends and whose
// GUIDs are unique, or an error with the file and the line.
#include <topology.hpp>

#include <cstdint>
#include <cstdlib>
#include <set>

namespace {

using namespace irpverbs::hca_software;

void expect(bool holds) {
    if (!holds) std::abort();
}

// Every included file is empty, so a file that includes itself ends.
bool read_nothing(const std::string&, std::string& text) {
    text.clear();
    return true;
}

void check(const topology& found) {
    expect(!found.nodes.empty());
    std::set<ib_guid_t> guids;
    for (std::size_t n = 0; n < found.nodes.size(); ++n) {
        const node_plan& node = found.nodes[n];
        expect(guids.insert(node.guid).second);
        expect(node.ports.size() >= 2 && node.ports.size() <= 255 && !node.ports[0].peer);
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            if (!node.ports[p].peer) continue;
            const endpoint here{n, static_cast<UCHAR>(p)};
            const endpoint peer = *node.ports[p].peer;
            expect(peer != here && found.nodes.at(peer.node).ports.at(peer.port).peer == here);
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        check(parse_topology(text, "fuzzed", read_nothing));
    } catch (const topology_error& wrong) {
        expect(std::string_view(wrong.what()).starts_with("fuzzed:"));
    }
    return 0;
}
