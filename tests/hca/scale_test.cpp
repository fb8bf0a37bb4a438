// A fabric of the size of a cluster.
#include <support/topology_file.hpp>
#include <support/verbs.hpp>

#include <unistd.h>

namespace {

using namespace irpverbs::testing;

constexpr unsigned leaves = 64;
constexpr unsigned spines = 16;
constexpr unsigned hosts_of_leaf = 32;
constexpr std::size_t hosts = leaves * hosts_of_leaf;
constexpr std::size_t max_memory = 200'000'000;

/// Bytes of this process in memory.
std::size_t resident() {
    std::size_t all = 0;
    std::size_t present = 0;
    std::ifstream("/proc/self/statm") >> all >> present;
    return present * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// tests/bench measures the time (ours/stand_up).
TEST(FabricScale, FabricOfTwoThousandHosts_UsesLessThan200Megabytes) {
    const topology_file file(fat_tree_file(leaves, spines, hosts_of_leaf));
    const std::size_t before = resident();
    ASSERT_GT(before, 0u);
    const attached hcas(file.uri());
    EXPECT_EQ(hcas.count(), hosts);
    EXPECT_LT(resident(), before + max_memory);
}

TEST(FabricScale, FabricOfTwoThousandHosts_HasDistinctLids) {
    const topology_file file(fat_tree_file(leaves, spines, hosts_of_leaf));
    const attached hcas(file.uri());
    ASSERT_EQ(hcas.count(), hosts);
    std::vector<bool> seen(hosts + leaves + spines + 1);
    for (std::size_t i = 0; i < hcas.count(); ++i) {
        IB_CA* ca = open_ca(hcas.fdo(i));
        const port_block port(ca, 1);
        EXPECT_EQ(port->State, IB_PORT_ACTIVE);
        ASSERT_LT(port->Lid, seen.size());
        EXPECT_FALSE(seen[port->Lid]) << "LID " << port->Lid << " twice";
        seen[port->Lid] = true;
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
}

} // namespace
