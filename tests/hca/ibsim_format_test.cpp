// Further syntax of ibsim's topology files besides nodes and cables.
#include "subnet_client.hpp"

#include <support/topology_file.hpp>

#include <cstdio>
#include <fstream>

namespace {

using namespace irpverbs::testing;

std::vector<ib_guid_t> guids_in(const std::string& text) {
    const topology_file file(text);
    const attached hcas(file.uri());
    std::vector<ib_guid_t> guids;
    for (std::size_t i = 0; i < hcas.count(); ++i)
        guids.push_back(hcas.guid(i));
    return guids;
}

UCHAR state_of(const attached& hcas, std::size_t which) {
    const open_hca ca(hcas.fdo(which));
    const port_block port(ca, 1);
    return port->State;
}

struct seen_link {
    USHORT width;
    USHORT speed;
    bool operator==(const seen_link&) const = default;
};

seen_link port_of(const attached& hcas) {
    const open_hca ca(hcas.fdo());
    const port_block port(ca, 1);
    EXPECT_EQ(port->State, IB_PORT_ACTIVE);
    return {port->ActiveWidth, port->ActiveSpeed};
}

/// Returns the attributes of a link whose ends both have these options.
seen_link link_with(const std::string& options) {
    const topology_file file("Hca 1 \"a\"\n[1] \"b\"[1] " + options +
                             "\n\nSwitch 1 \"b\"\n[1] \"a\"[1] " + options + "\n");
    return port_of(attached(file.uri()));
}

seen_link link_below(const std::string& assignments) {
    const topology_file file(assignments +
                             "\nHca 1 \"a\"\n[1] \"b\"[1]\n\nSwitch 1 \"b\"\n[1] \"a\"[1]\n");
    return port_of(attached(file.uri()));
}

// Included files, and speeds and widths for all following links.
TEST(IbsimFormat, IncludeDirective_ReadsOtherFile) {
    const topology_file leaf("width=12\nspeed=3\nHca 1 \"Hca1\"\n[1] \"Switch1\"[2]\n");
    const std::string name = leaf.path().substr(leaf.path().rfind('/') + 1);
    std::ofstream(leaf.path() + ".net") << "include \"" << name << "\"\n"
                                        << "Switch 8 \"Switch1\"\n"
                                        << "[2] \"Hca1\"[1]\n";
    const attached hcas("software:" + leaf.path() + ".net");
    std::remove((leaf.path() + ".net").c_str());
    ASSERT_EQ(hcas.count(), 1u);
    EXPECT_EQ(port_of(hcas), (seen_link{IB_LINK_WIDTH_12X, IB_LINK_SPEED_DDR}));
}

// Widths are masks of IBA's bits, of which the widest counts; 4 alone is 4X, as ibsim's examples
// state.
TEST(IbsimFormat, WidthMask_WidestIsUsed) {
    const std::vector<std::pair<int, USHORT>> widths{
        {1, IB_LINK_WIDTH_1X},   {2, IB_LINK_WIDTH_4X},   {3, IB_LINK_WIDTH_4X},
        {4, IB_LINK_WIDTH_4X},   {5, IB_LINK_WIDTH_8X},   {8, IB_LINK_WIDTH_12X},
        {11, IB_LINK_WIDTH_12X}, {12, IB_LINK_WIDTH_12X}, {16, IB_LINK_WIDTH_2X},
        {17, IB_LINK_WIDTH_2X},  {31, IB_LINK_WIDTH_12X}};
    for (const auto& [mask, width] : widths) {
        const std::string text = std::to_string(mask);
        EXPECT_EQ(link_with("w=" + text).width, width) << mask;
        EXPECT_EQ(link_below("width=" + text).width, width) << mask;
    }
}

TEST(IbsimFormat, SpeedMask_FastestIsUsed) {
    EXPECT_EQ(link_with("s=1").speed, IB_LINK_SPEED_SDR);
    EXPECT_EQ(link_with("s=3").speed, IB_LINK_SPEED_DDR);
    EXPECT_EQ(link_with("s=0").speed, IB_LINK_SPEED_QDR);
    EXPECT_EQ(link_below("speed=5").speed, IB_LINK_SPEED_QDR);
}

TEST(IbsimFormat, ExtendedSpeed_OverridesSpeed) {
    EXPECT_EQ(link_with("e=1 s=2").speed, IB_LINK_SPEED_FDR);
    EXPECT_EQ(link_with("s=2 e=2").speed, IB_LINK_SPEED_EDR);
    EXPECT_EQ(link_with("e=7 w=1"), (seen_link{IB_LINK_WIDTH_1X, IB_LINK_SPEED_HDR}));
    EXPECT_EQ(link_with("e=0 s=2").speed, IB_LINK_SPEED_DDR);
    EXPECT_EQ(link_below("extspeed=15").speed, IB_LINK_SPEED_NDR);
    EXPECT_EQ(link_below("extspeed=8\nextspeed=0\nspeed=2").speed, IB_LINK_SPEED_DDR);
}

// The speed that ibnetdiscover found takes precedence over the options.
TEST(IbsimFormat, LinkSpeedInComment_OverridesOptions) {
    EXPECT_EQ(link_with("s=1 e=8 # \"b\" lid 2 4xDDR").speed, IB_LINK_SPEED_DDR);
    EXPECT_EQ(link_with("s=1 # \"b\" lid 2 4xEDR").speed, IB_LINK_SPEED_EDR);
}

// As in ibsim, an assigned GUID is the start of the count for later nodes of its type.
TEST(IbsimFormat, AssignedGuid_StartsCountForLaterNodes) {
    using guids = std::vector<ib_guid_t>;
    const std::string nodes = "Ca 2 \"a\"\n\nSwitch 1 \"s\"\n\nHca 1 \"b\"\n";
    EXPECT_EQ(guids_in("caguid=0x50\n" + nodes), (guids{0x50, 0x53}));
    EXPECT_EQ(guids_in("hcaguids = 0x50\n" + nodes), (guids{0x50, 0x53}));
    EXPECT_EQ(guids_in("caguid=0x50\ncaguid+0x10\n" + nodes), (guids{0x60, 0x63}));
    EXPECT_EQ(guids_in("caguid+1\n" + nodes), (guids{0x100001, 0x100004}));
    EXPECT_EQ(guids_in("caguid=0x50\n" + nodes + "\nhcaguids+0x20\nCa 1 \"c\"\n"),
              (guids{0x50, 0x53, 0x70}));
    EXPECT_EQ(guids_in("caguid=0x50\nCa 1 \"a\"\n\nCa 1 \"H-0002c90300001000\"\n"),
              (guids{0x50, 0x2c90300001000}));
    EXPECT_EQ(guids_in("caguid=0x50\nCa 1 \"H-0002c90300001000\"\n"), (guids{0x50}));
}

// Inside a module, a node or alias without a module name belongs to that module.
TEST(IbsimFormat, NameWithoutModule_BelongsToCurrentModule) {
    const topology_file file("module=\"left\"\n"
                             "Hca 1 \"a\"\n"
                             "[1] \"s\"[1]\n\n"
                             "Switch 2 \"s\"\n"
                             "[2] \"right#s\"[2] # the other module's\n\n"
                             "module = \"right\"\n"
                             "Switch 2 \"s\"\n\n"
                             "Hca 1 \"a\"\n"
                             "[1] \"s\"\n");
    const attached hcas(file.uri());
    ASSERT_EQ(hcas.count(), 2u);
    char name[64] = "";
    HcaName(hcas.guid(1), name, sizeof(name));
    EXPECT_STREQ(name, "right#a");
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(state_of(hcas, i), IB_PORT_ACTIVE);
}

// A name may occur in many modules, so inside a module it does not determine a GUID.
TEST(IbsimFormat, EmptyModuleName_EndsModule) {
    const std::string node = "Ca 1 \"H-0002c90300001000\"\n\n";
    const auto guids = guids_in("module=\"m\"\n" + node + "module=\"\"\n" + node);
    ASSERT_EQ(guids.size(), 2u);
    EXPECT_NE(guids[0], 0x2c90300001000u);
    EXPECT_EQ(guids[1], 0x2c90300001000u);
}

TEST(IbsimFormat, AliasAsPeer_ResolvesToPort) {
    const topology_file file("module=\"left\"\n"
                             "Hca 1 \"a\"\n"
                             "[1] \"@up\" e=1\n\n"
                             "Switch 3 \"s\"\n"
                             "@[3] \"up\" e=2\n\n"
                             "module=\"right\"\n"
                             "Hca 1 \"a\"\n"
                             "[1] \"left@down\"[9]\n\n"
                             "module=\"left\"\n"
                             "Switch 1 \"t\"\n"
                             "@[1] \"down\"\n");
    const attached hcas(file.uri());
    ASSERT_EQ(hcas.count(), 2u);
    EXPECT_EQ(state_of(hcas, 0), IB_PORT_ACTIVE);
    EXPECT_EQ(state_of(hcas, 1), IB_PORT_INIT) << "linked, in an island";
    EXPECT_EQ(port_of(hcas).speed, IB_LINK_SPEED_FDR);
}

// The other port is written "remote" instead of "remote"[1], or with a blank between, as ibsim's
// examples describe it.
TEST(IbsimFormat, PeerWithoutPort_DefaultsToPortOne) {
    const topology_file file("Hca 2 \"a\"\n[2] \"s\" w=1 # one\n\n"
                             "Hca 1 \"b\"\n[1] \"s\" [2]\n\n"
                             "Switch 2 \"s\"\n[1] \"a\"[2]\n[2] \"b\"[1]\n");
    const attached hcas(file.uri());
    EXPECT_EQ(hcas.count(), 2u);
}

TEST(IbsimFormat, PdebugSetting_IsIgnored) {
    EXPECT_EQ(guids_in("pdebug=1\ncaguid=3\nCa 1 \"a\"\n"), (std::vector<ib_guid_t>{3}));
}

TEST(IbsimFormat, UnquotedDescription_IsRead) {
    const topology_file file("caguid=0x9\nCa 1 \"a\" # node01 HCA-1 \n"
                             "[1] \"s\"[1]\n\n"
                             "Switch 1 \"s\" # MT47396 enhanced port 0 lid 6 lmc 0\n");
    const attached hcas(file.uri());
    const open_hca ca(hcas.fdo());
    char name[64] = "";
    EXPECT_EQ(HcaName(0x9, name, sizeof(name)), STATUS_SUCCESS);
    EXPECT_STREQ(name, "node01 HCA-1");
    subnet_client client(ca);
    const mad of_switch = client.ask(directed_smp(get_method, sm_node_description, 0, {1}));
    EXPECT_STREQ(reinterpret_cast<const char*>(&of_switch[smp_data]), "MT47396");
}

} // namespace
