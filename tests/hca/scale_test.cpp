// A cluster's worth of fabric.
#include <support/verbs.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

using namespace irpverbs::testing;

constexpr int hosts = 2000;
constexpr int leaves = 64;
constexpr int spines = 16;
constexpr int hosts_of_leaf = 32;
constexpr std::size_t megabyte = 1'000'000;
constexpr std::size_t most_memory = 200 * megabyte;

/// Bytes of this process that are in memory.
std::size_t resident() {
    std::size_t all = 0;
    std::size_t present = 0;
    std::ifstream("/proc/self/statm") >> all >> present;
    return present * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Two levels: each leaf has 32 hosts and a cable to each spine.
std::string fat_tree() {
    std::ostringstream out;
    for (int h = 0; h < hosts; ++h)
        out << "Hca 1 \"H" << h << "\"\n[1] \"L" << h / hosts_of_leaf << "\"["
            << h % hosts_of_leaf + 1 << "]\n\n";
    for (int l = 0; l < leaves; ++l) {
        out << "Switch " << hosts_of_leaf + spines << " \"L" << l << "\"\n";
        for (int s = 0; s < spines; ++s)
            out << '[' << hosts_of_leaf + s + 1 << "] \"S" << s << "\"[" << l + 1 << "]\n";
        out << '\n';
    }
    for (int s = 0; s < spines; ++s)
        out << "Switch " << leaves << " \"S" << s << "\"\n\n";
    return out.str();
}

// The time is told and holds nothing: it is the machine's, and the build's.
TEST(Scale, TwoThousandHostsAndEightySwitchesStandUpInUnder200Megabytes) {
    const std::string name = ::testing::TempDir() + "scale_test_memory.net";
    std::ofstream(name) << fat_tree();
    const std::size_t before = resident();
    ASSERT_GT(before, 0u);
    const auto begin = std::chrono::steady_clock::now();
    {
        const attached hcas("software:" + name);
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        const std::size_t after = resident();
        const std::size_t grown = after > before ? after - before : 0;
        EXPECT_EQ(hcas.count(), std::size_t{hosts});
        EXPECT_LT(grown, most_memory);
        std::cout << hosts << " hosts, " << leaves + spines << " switches: " << took.count()
                  << " ms, " << grown / megabyte << " MB\n";
    }
    std::remove(name.c_str());
}

TEST(Scale, TwoThousandHostsStandUpEachWithItsOwnLid) {
    const std::string name = ::testing::TempDir() + "scale_test.net";
    std::ofstream(name) << fat_tree();
    {
        const attached hcas("software:" + name);
        ASSERT_EQ(hcas.count(), std::size_t{hosts});
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
    std::remove(name.c_str());
}

} // namespace
