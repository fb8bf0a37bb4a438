// Scripts: what they mean, and the errors of wrong ones.
#include <drive/script.hpp>

#include <gtest/gtest.h>

namespace {

using namespace drive;

std::string error_of(const char* text) {
    try {
        parse_script(text, "s");
    } catch (const script_error& wrong) {
        return wrong.what();
    }
    return "none";
}

TEST(DriveScript, Sections_HoldTheirCommands) {
    const script made =
        parse_script("setup\n open f \\Device\\X\nactor a\n read f 16 # later\n"
                     "actor b\n write f \"a \\\"b\\\" # c\\n\" # d\n ioctl f 0x10 in \"x\" out 8\n"
                     "teardown\n close f expect STATUS_SUCCESS|STATUS_INVALID_HANDLE",
                     "s");
    ASSERT_EQ(made.setup.size(), 1u);
    EXPECT_EQ(made.setup[0].path, "\\Device\\X");
    EXPECT_EQ(made.setup[0].expected, std::vector<NTSTATUS>{STATUS_SUCCESS});
    ASSERT_EQ(made.actors.size(), 2u);
    EXPECT_EQ(made.actors[0].commands[0].length, 16u);
    EXPECT_EQ(made.actors[0].commands[0].text, "read f 16");
    EXPECT_TRUE(made.actors[0].commands[0].expected.empty());
    EXPECT_EQ(made.actors[1].commands[0].input, "a \"b\" # c\n");
    EXPECT_EQ(made.actors[1].commands[0].text, "write f \"a \\\"b\\\" # c\\n\"");
    EXPECT_EQ(made.actors[1].commands[1].code, 0x10u);
    EXPECT_EQ(made.actors[1].commands[1].length, 8u);
    EXPECT_EQ(made.teardown[0].expected,
              (std::vector<NTSTATUS>{STATUS_SUCCESS, STATUS_INVALID_HANDLE}));
}

TEST(DriveScript, Resources_StandInTheirOrder) {
    const script made = parse_script(
        "resource memory 0x1000\nresource interrupt\nresource port 8\nsetup\n add", "s");
    ASSERT_EQ(made.resources.size(), 3u);
    EXPECT_EQ(made.resources[0].kind, resource_kind::memory);
    EXPECT_EQ(made.resources[0].bytes, 0x1000u);
    EXPECT_EQ(made.resources[1].kind, resource_kind::interrupt);
    EXPECT_EQ(made.resources[2].kind, resource_kind::port);
    EXPECT_EQ(made.resources[2].bytes, 8u);
    EXPECT_EQ(error_of("resource dma 1"), "s:1: 'interrupt', 'port' or 'memory' was expected");
    EXPECT_EQ(error_of("resource port 0"), "s:1: a number of bytes above 0 was expected");
    EXPECT_EQ(error_of("setup\nresource interrupt"),
              "s:2: 'resource' was expected before 'setup', 'actor NAME' and 'teardown'");
}

TEST(DriveScript, InputThatBecomesAnother_HasItsLength) {
    const script made = parse_script("setup\n ioctl f 3 in \"ab\" becomes \"cd\" out 4", "s");
    EXPECT_EQ(made.setup[0].becomes, "cd");
    EXPECT_EQ(made.setup[0].length, 4u);
    EXPECT_EQ(error_of("setup\n ioctl f 3 in \"ab\" becomes \"c\""),
              "s:2: a text of the length of the first was expected behind 'becomes'");
}

TEST(DriveScript, Shutdown_HasNoArguments) {
    EXPECT_EQ(parse_script("actor a\n shutdown\n", "s").actors.at(0).commands.at(0).what,
              verb::shutdown);
}

TEST(DriveScript, SettingsAndInterfaces_AreThoseOfTheDriver) {
    const script made = parse_script("registry Depth dword 0x10\n"
                                     "registry Parameters\\Deep\\Name string \"a b\"\n"
                                     "setup\n open f {5c9c1f54-6F8d-4a0c-9c33-0d2c1a7e4b10}\\x\n",
                                     "s");
    ASSERT_EQ(made.settings.size(), 2u);
    EXPECT_EQ(made.settings[0].key, "");
    EXPECT_EQ(made.settings[0].name, "Depth");
    EXPECT_EQ(made.settings[0].number, 16u);
    EXPECT_EQ(made.settings[1].key, "Parameters\\Deep");
    EXPECT_EQ(made.settings[1].name, "Name");
    EXPECT_FALSE(made.settings[1].number);
    EXPECT_EQ(made.settings[1].text, "a b");
    const command& open = made.setup.at(0);
    ASSERT_TRUE(open.interface);
    EXPECT_EQ(open.path, "\\x");
    EXPECT_EQ(open.interface->Data1, 0x5c9c1f54u);
    EXPECT_EQ(open.interface->Data2, 0x6f8d);
    EXPECT_EQ(open.interface->Data3, 0x4a0c);
    EXPECT_EQ(open.interface->Data4[0], 0x9c);
    EXPECT_EQ(open.interface->Data4[7], 0x10);
}

TEST(DriveScript, Account_IsTheAdministratorsUnlessNamed) {
    const script made =
        parse_script("setup\n open f p\n open f p as guest expect STATUS_ACCESS_DENIED\n", "s");
    EXPECT_EQ(made.setup.at(0).account, IrpAccountAdministrator);
    EXPECT_EQ(made.setup.at(1).account, IrpAccountGuest);
    EXPECT_EQ(made.setup.at(1).expected, std::vector<NTSTATUS>{STATUS_ACCESS_DENIED});
}

TEST(DriveScript, PendingRequestsAndTheirCompletion_AreThoseOfTheActor) {
    const script made = parse_script("actor a\n read f 4 expect STATUS_SUCCESS|pending\n"
                                     " read f 4 expect any|pending\n read f 4 expect any\n"
                                     "actor b\n write f \"x\" expect STATUS_SUCCESS completes a\n",
                                     "s");
    const std::vector<command>& reads = made.actors.at(0).commands;
    EXPECT_TRUE(reads.at(0).may_stay_pending);
    EXPECT_EQ(reads[0].expected, std::vector<NTSTATUS>{STATUS_SUCCESS});
    EXPECT_TRUE(reads.at(1).may_stay_pending);
    EXPECT_TRUE(reads[1].expected.empty());
    EXPECT_FALSE(reads.at(2).may_stay_pending);
    EXPECT_EQ(made.actors.at(1).commands.at(0).completes, "a");
}

TEST(DriveScript, Mistakes_AreNamedWithTheirLine) {
    EXPECT_EQ(error_of("read f 1"), "s:1: 'setup', 'actor NAME' or 'teardown' was expected first");
    EXPECT_EQ(error_of("setup\n raed f 1"), "s:2: 'raed' is no command; see irpverbs-drive --help");
    EXPECT_EQ(error_of("setup\n read f many"),
              "s:2: a number of bytes was expected, up to 16777216, not 'many'");
    EXPECT_EQ(error_of("setup\n read f"),
              "s:2: a number of bytes was expected at the end of the line");
    EXPECT_EQ(error_of("setup\n write f hello"), "s:2: a text in quotation marks was expected");
    EXPECT_EQ(error_of("setup\n write f \"hello"), "s:2: a text without a closing quotation mark");
    EXPECT_EQ(error_of("setup\n close f expect STATUS_LUCK"),
              "s:2: 'STATUS_LUCK' is no status that the library names");
    EXPECT_EQ(error_of("setup\n close f expect pending"),
              "s:2: 'pending' is for 'read', 'write' and 'ioctl'");
    EXPECT_EQ(error_of("setup\n read f 4\nactor a\n flush f completes b"), "s:4: 'b' is no actor");
    EXPECT_EQ(error_of("setup\n close f g"), "s:2: nothing more was expected than before 'g'");
    EXPECT_EQ(error_of("actor"), "s:1: the name of the actor was expected at the end of the line");
    EXPECT_EQ(error_of("setup\nregistry Depth dword 1"),
              "s:2: 'registry' was expected before 'setup', 'actor NAME' and 'teardown'");
    EXPECT_EQ(error_of("registry Depth binary 1"), "s:1: 'dword' or 'string' was expected");
    EXPECT_EQ(error_of("setup\n open f {5c9c1f54}"),
              "s:2: a GUID as {01234567-89ab-cdef-0123-456789abcdef} was expected, not "
              "'{5c9c1f54}'");
    EXPECT_EQ(error_of("setup\n open f p as root"),
              "s:2: 'root' is no account; see irpverbs-drive --help");
    EXPECT_EQ(error_of("setup\n open f p as"),
              "s:2: the name of an account was expected at the end of the line");
    EXPECT_EQ(error_of("# nothing\n"), "s:1: a command in 'setup' or of an 'actor' was expected");
}

TEST(DriveScript, AnyBytes_AreAScriptOrAnError) {
    std::string text = "setup\n write f \"\\";
    for (int each = 0; each < 256; ++each) {
        text += static_cast<char>(each);
        EXPECT_NE(error_of(text.c_str()), "");
    }
}

} // namespace
