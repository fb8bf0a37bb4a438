// Files as tools wrote them (topologies/README.md): every file can be read, and their contents
// agree.
#include <support/verbs.hpp>

#include <hca/software.h>

#include <map>

namespace {

using namespace irpverbs::testing;

std::string file(const std::string& name) { return "software:" TOPOLOGIES "/" + name; }

struct seen_port {
    UCHAR state;
    ib_lid_t lid;
    USHORT width;
    USHORT speed;
};

/// The first port of each HCA, by the HCA's name.
std::map<std::string, seen_port> ports_of(const attached& hcas) {
    std::map<std::string, seen_port> ports;
    for (std::size_t i = 0; i < hcas.count(); ++i) {
        char name[80] = "";
        HcaName(hcas.guid(i), name, sizeof(name));
        IB_CA* ca = open_ca(hcas.fdo(i));
        const port_block port(ca, 1);
        ports[name] = {port->State, port->Lid, port->ActiveWidth, port->ActiveSpeed};
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    return ports;
}

TEST(RecordedTopologies, IbnetdiscoverFiles_ReadWithLids) {
    const std::map<std::string, ib_lid_t> lids{
        {"H0001", 1}, {"H0002", 5}, {"H0003", 7}, {"H0004", 8}};
    for (const char* name : {"two_leaves.ibnetdiscover", "two_leaves.grouped", "two_leaves.full"}) {
        const attached hcas(file(name));
        std::map<std::string, ib_lid_t> found;
        for (const auto& [host, port] : ports_of(hcas)) {
            found[host] = port.lid;
            EXPECT_EQ(port.state, IB_PORT_ACTIVE) << name << ' ' << host;
            EXPECT_EQ(port.width, IB_LINK_WIDTH_4X) << name << ' ' << host;
            EXPECT_EQ(port.speed, IB_LINK_SPEED_SDR) << name << ' ' << host;
        }
        EXPECT_EQ(found, lids) << name;
    }
}

// The file that tests/lab/fabric.py wrote for ibsim has the hosts that were discovered in that
// fabric.
TEST(RecordedTopologies, GeneratedIbsimFile_HasDiscoveredHosts) {
    const attached hcas(file("two_leaves.net"));
    std::string hosts;
    for (const auto& [host, port] : ports_of(hcas)) {
        hosts += host + ' ';
        EXPECT_EQ(port.state, IB_PORT_ACTIVE) << host;
        EXPECT_NE(port.lid, 0) << host;
    }
    EXPECT_EQ(hosts, "H0001 H0002 H0003 H0004 ");
}

TEST(RecordedTopologies, OneSwitchFile_HasThreeHosts) {
    const attached hcas(file("one_switch.ibnetdiscover"));
    EXPECT_EQ(hcas.count(), 3u);
}

} // namespace
