// Topology files: both dialects, and the messages about wrong ones.
#include <support/topology_file.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using irpverbs::testing::topology_file;

struct result {
    NTSTATUS status;
    std::string message;
    std::vector<ib_guid_t> guids;
};

result attach(const std::string& uri) {
    char message[300] = "";
    ULONG count = 0;
    result seen;
    seen.status = HcaAttachEx(uri.c_str(), &count, message, sizeof(message));
    seen.message = message;
    seen.guids.resize(count);
    HcaEnumerate(seen.guids.data(), &count);
    return seen;
}

/// Returns the message for a file of that text, without the file's name.
std::string complaint(const std::string& text) {
    const topology_file file(text);
    const result seen = attach(file.uri());
    EXPECT_EQ(seen.status, STATUS_DATA_ERROR);
    if (NT_SUCCESS(seen.status)) HcaDetach(file.uri().c_str());
    EXPECT_TRUE(seen.message.starts_with(file.path() + ":")) << seen.message;
    return seen.message.substr(std::min(seen.message.size(), file.path().size() + 1));
}

// A file as ibnetdiscover prints it: GUIDs, LIDs and link speeds come from the file.
TEST(Topology, IbnetdiscoverFile_IsRead) {
    const topology_file file(R"(#
# Topology file: generated on Thu Jan  1 00:00:00 1970
#
# Initiated from node 0002c90300001000 port 0002c90300001001

vendid=0x2c9
devid=0xb924
sysimgguid=0x2c90200404c43
switchguid=0x2c90200404c40(2c90200404c40)
Switch	24 "S-0002c90200404c40"		# "MT47396 Infiniscale-III" enhanced port 0 lid 6 lmc 0
[3]	"H-0002c90300002000"[1](2c90300002001) 		# "node02 HCA-1" lid 9 4xDDR
[22][ext 5]	"H-0002c90300001000"[1](2c90300001001) 		# "node01 HCA-1" lid 4 4xDDR

vendid=0x2c9
devid=0x6340
sysimgguid=0x2c90300001003
caguid=0x2c90300001000
Ca	2 "H-0002c90300001000"		# "node01 HCA-1"
[1](2c90300001001) 	"S-0002c90200404c40"[22]		# lid 4 lmc 1 "MT47396 Infiniscale-III" lid 6 4xDDR

vendid=0x2c9
devid=0x6340
sysimgguid=0x2c90300002003
caguid=0x2c90300002000
Ca	1 "H-0002c90300002000"		# "node02 HCA-1"
[1](2c90300002001) 	"S-0002c90200404c40"[3]		# lid 9 lmc 0 "MT47396 Infiniscale-III" lid 6 4xDDR
)");
    const result seen = attach(file.uri());
    ASSERT_EQ(seen.status, STATUS_SUCCESS) << seen.message;
    EXPECT_EQ(seen.guids, (std::vector<ib_guid_t>{0x2c90300001000, 0x2c90300002000}));
    char name[64];
    EXPECT_EQ(HcaName(0x2c90300001000, name, sizeof(name)), STATUS_SUCCESS);
    EXPECT_STREQ(name, "node01 HCA-1");
    EXPECT_EQ(HcaName(0x2c90300001000, name, 5), STATUS_BUFFER_OVERFLOW);
    EXPECT_STREQ(name, "node");
    EXPECT_EQ(HcaDetach(file.uri().c_str()), STATUS_SUCCESS);
    EXPECT_EQ(HcaFromGuid(0x2c90300001000), nullptr);
}

TEST(Topology, IbsimFile_IsRead) {
    const topology_file file("# two hosts\n"
                             "Switch\t8 \"Switch1\"\n"
                             "[1]\t\"Hca1\"[1]\n"
                             "[4]\t\"Hca2\"[2] w=12 s=2\n"
                             "\n"
                             "Hca\t2 \"Hca1\"\n"
                             "[1]\t\"Switch1\"[1]\n"
                             "\n"
                             "Hca\t2 \"Hca2\"\n"
                             "[2]\t\"Switch1\"[4]\n");
    const result seen = attach(file.uri());
    EXPECT_EQ(seen.status, STATUS_SUCCESS) << seen.message;
    EXPECT_EQ(seen.guids.size(), 2u);
    EXPECT_EQ(HcaDetach(file.uri().c_str()), STATUS_SUCCESS);
}

TEST(Topology, DuplicateSwitchOrRouterGuid_IsReported) {
    EXPECT_EQ(complaint("switchguid=7\nSwitch 1 \"s\"\n\nswitchguids+0\nSwitch 1 \"t\"\n"),
              "5: the GUID of \"t\" is that of the node at line 2");
    EXPECT_EQ(complaint("rtguid=7\nRt 1 \"r\"\n\nswitchguid=7\nSwitch 1 \"s\"\n"),
              "5: the GUID of \"s\" is that of the node at line 2");
}

TEST(Topology, FileIncludesItself_IsReported) {
    const topology_file self("");
    const std::string name = self.path().substr(self.path().rfind('/') + 1);
    std::ofstream(self.path()) << "\ninclude \"" << name << "\"\n";
    const result seen = attach(self.uri());
    EXPECT_EQ(seen.status, STATUS_DATA_ERROR);
    EXPECT_EQ(seen.message,
              self.path() + ":2: \"" + name + "\" is included too deep: does it include itself?");
}

// Every prefix of every line of a good file is accepted or refused at that line.
TEST(Topology, TruncatedLine_IsReportedWithItsNumber) {
    const std::string line = "[1](10) \"S\"[1](20) w=4 s=1 e=2 # lid 4 lmc 0 \"S\" lid 6 4xDDR";
    const std::string before = "caguid=0x10\nCa 1 \"H\"\n";
    for (std::size_t length = 1; length < line.size(); ++length) {
        const topology_file file(before + line.substr(0, length) + "\n\nSwitch 1 \"S\"\n");
        const result seen = attach(file.uri());
        if (seen.status == STATUS_SUCCESS) {
            EXPECT_EQ(HcaDetach(file.uri().c_str()), STATUS_SUCCESS);
            continue;
        }
        EXPECT_EQ(seen.status, STATUS_DATA_ERROR);
        EXPECT_TRUE(seen.message.starts_with(file.path() + ":3: ")) << seen.message;
    }
}

TEST(Topology, SyntaxError_IsReportedWithLineAndReason) {
    EXPECT_EQ(complaint("Hca 1 \"a\"\n\ninclude \"none\"\n").substr(0, 2), "3:");
    EXPECT_EQ(complaint("do Unlink \"a\"[1]\n"),
              "1: 'do' is a command of ibsim's console, which is not supported");
    EXPECT_EQ(complaint("speed=8\n"), "1: expected a mask of speeds, at most 7");
    EXPECT_EQ(complaint("speed=0\n"), "1: expected a mask of speeds, from 1 to 7");
    EXPECT_EQ(complaint("width=32\n"), "1: expected a mask of widths, at most 31");
    EXPECT_EQ(complaint("width=0\n"), "1: expected a mask of widths, from 1 to 31");
    EXPECT_EQ(complaint("extspeed=16\n"), "1: expected a mask of extended speeds, at most 15");
    EXPECT_EQ(complaint("pdebug=\n").substr(0, 20), "1: expected a level,");
    EXPECT_EQ(complaint("vendid 5\n"), "1: expected '=' before '5'");
    EXPECT_EQ(complaint("caguid-1\n"), "1: expected '=' before '-1'");
    EXPECT_EQ(complaint("module=left\n"), "1: expected the module's name in quotes");
    EXPECT_EQ(complaint("module=\"a#b\"\n"),
              "1: \"a#b\": '#' and '@' are for the names of modules and aliases");
    EXPECT_EQ(complaint(""), "0: expected at least one node");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"nowhere\"[1]\n"), "2: there is no node \"nowhere\"");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"a"),
              "2: the quotes around the other node's id don't end");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1 \"b\"[1]\n"), "2: expected ']' before '\"b\"[1]'");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[2] \"b\"[1]\n"), "2: expected a port number, at most 1");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n\nHca 1 \"a\"\n"), "3: \"a\" is a node already, at line 1");
    EXPECT_EQ(complaint("caguid=0x5\nCa 1 \"a\"\n\ncaguid=0x5\nCa 1 \"b\"\n"),
              "5: the GUID of \"b\" is that of the node at line 2");
    EXPECT_EQ(complaint("Ca 1 \"a\"\n[1](0x99) \"s\"[1]\n\nCa 1 \"b\"\n[1](0x99) \"s\"[2]\n\n"
                        "Switch 2 \"s\"\n"),
              "4: the GUID of \"b\"[1] is that of a port of the node at line 1");
    for (const char* link : {"4xXYZ", "3xSDR", "banana", "x", "4"})
        EXPECT_EQ(complaint("Ca 1 \"a\"\n[1] \"b\"[1] # \"b\" lid 6 " + std::string(link) +
                            "\n\nCa 1 \"b\"\n"),
                  "2: expected a link's width and speed, like 4xEDR");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"b\"[3]\n\nHca 2 \"b\"\n"), "2: \"b\" has ports 1 to 2");
    EXPECT_EQ(complaint("Hca 2 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\n\nHca 1 \"b\"\n"),
              "3: \"b\"[1] has another cable, at line 2");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"a\"[1]\n"), "2: a cable has two ends");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"b\"[1] x=4\n"),
              "2: expected 'w=', 's=', 'e=', '#' or the end of the line");
    EXPECT_EQ(complaint("Hca 1 \"a@b\"\n"),
              "1: \"a@b\": '#' and '@' are for the names of modules and aliases");
    EXPECT_EQ(complaint("Hca 2 \"a\"\n@[1] \"x\"\n@[2] \"x\"\n"),
              "3: \"@x\" is an alias already, at line 2");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n@[2] \"x\"\n"), "2: expected a port number, at most 1");
    EXPECT_EQ(complaint("Hca 1 \"a\"\n[1] \"left@x\"\n"), "2: there is no alias \"left@x\"");
    EXPECT_EQ(complaint("@[1] \"x\"\n").substr(0, 2), "1:");
    EXPECT_EQ(complaint("[1] \"a\"[1]\n").substr(0, 2), "1:");
    EXPECT_EQ(complaint("Hub 3 \"a\"\n").substr(0, 2), "1:");
    EXPECT_EQ(complaint("Switch 300 \"a\"\n"), "1: expected a number of ports, at most 254");
}

TEST(Topology, InvalidFile_AttachesNothing) {
    const topology_file file("Hca 1 \"a\"\n\nHca 1 \"b\"\n[1] \"nowhere\"[1]\n");
    EXPECT_EQ(attach(file.uri()).status, STATUS_DATA_ERROR);
    ULONG count = 0;
    EXPECT_EQ(HcaEnumerate(nullptr, &count), STATUS_SUCCESS);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(HcaDetach(file.uri().c_str()), STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST(SoftwareAttach, UnknownUri_IsRefused) {
    EXPECT_EQ(attach("software").status, STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(attach("hardware:").status, STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(attach("software:/nowhere/fabric.net").status, STATUS_NO_SUCH_FILE);
    const auto folder = attach("software:" + ::testing::TempDir());
    EXPECT_EQ(folder.status, STATUS_NO_SUCH_FILE);
    EXPECT_NE(folder.message.find(": Is a directory"), std::string::npos) << folder.message;
    EXPECT_EQ(HcaAttach(nullptr, nullptr), STATUS_OBJECT_NAME_INVALID);
    EXPECT_EQ(HcaDetach("software:"), STATUS_OBJECT_NAME_NOT_FOUND);
}

// The second URI has GUIDs that exist already: none of its HCAs stays.
TEST(SoftwareAttach, DuplicateUriOrGuid_IsRefused) {
    const topology_file one("caguid=0x5\nCa 1 \"a\"\n");
    EXPECT_EQ(attach(one.uri()).status, STATUS_SUCCESS);
    EXPECT_EQ(attach(one.uri()).status, STATUS_OBJECT_NAME_COLLISION);
    std::ofstream(one.path() + "2") << "caguid=0x6\nCa 1 \"b\"\n\ncaguid=0x5\nCa 1 \"c\"\n";
    EXPECT_EQ(attach(one.uri() + "2").status, STATUS_OBJECT_NAME_COLLISION);
    std::remove((one.path() + "2").c_str());
    EXPECT_EQ(HcaFromGuid(6), nullptr);
    EXPECT_EQ(HcaDetach(one.uri().c_str()), STATUS_SUCCESS);
}

} // namespace
