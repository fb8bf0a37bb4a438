// irpctl's output: a pipe that cannot be written, and hostile bytes in descriptions.
#include "program.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

using namespace irpverbs::testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Runs a shell command line; the caller redirects its errors to its output.
ended shell(const std::string& line) {
    ended how;
    std::FILE* const out = popen(line.c_str(), "r");
    for (int each = std::getc(out); each != EOF; each = std::getc(out))
        how.out += static_cast<char>(each);
    how.status = WEXITSTATUS(pclose(out));
    return how;
}

TEST(IrpctlOutput, FullDevice_ExitsWith1AndOneLine) {
    for (const char* words :
         {"devices", "--json devices", "port", "events --provoke --count 1", "--help", "sa node"}) {
        const ended how = shell(std::string(IRPCTL " ") + words + " 2>&1 >/dev/full");
        EXPECT_EQ(how.status, 1) << words;
        EXPECT_TRUE(is_one_line(how.out)) << words << how.out;
        EXPECT_THAT(how.out, HasSubstr("standard output: No space left on device")) << words;
    }
}

// Events of four seconds, on a pipe without a reader.
TEST(IrpctlOutput, ClosedPipe_ExitsWith1AndOneLine) {
    const ended how =
        shell("{ sh -c '" IRPCTL " events --provoke --count 8 2>&3; echo $? >&3' | true; } 3>&1");
    EXPECT_THAT(how.out, HasSubstr("irpctl: standard output: Broken pipe"));
    EXPECT_THAT(how.out, EndsWith("\n1\n"));
    EXPECT_EQ(std::count(how.out.begin(), how.out.end(), '\n'), 2);
}

/// A fabric of one host whose description has bytes of all kinds.
class IrpctlOutputEscaping : public ::testing::Test {
protected:
    IrpctlOutputEscaping() {
        std::ofstream file(path_, std::ios::binary);
        file << "Switch 2 \"S-1\" # \"switch1\"\n[1] \"H-2\"[1]\n\n"
             << "Ca 1 \"H-2\" # \"a\x1b[31m\xff\xc3\xa9\xc2\x9b\x7f\"\n[1] \"S-1\"[1]\n";
    }
    ~IrpctlOutputEscaping() override { std::filesystem::remove(path_); }

    ended irpctl(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"--hca", "software:" + path_});
        return run(std::move(arguments));
    }

private:
    std::string path_ = ::testing::TempDir() + "irpctl_text_" + std::to_string(getpid());
};

TEST_F(IrpctlOutputEscaping, PlainOutput_IsEscaped) {
    for (const char* command : {"devices", "port"}) {
        const ended how = irpctl({command});
        EXPECT_EQ(how.status, 0) << how.err;
        EXPECT_THAT(how.out, HasSubstr("a\\x1b[31m\\xff\xc3\xa9\\xc2\\x9b\\x7f")) << command;
    }
    EXPECT_THAT(irpctl({"port", "2"}).err, Not(HasSubstr("\x1b")));
}

TEST_F(IrpctlOutputEscaping, JsonOutput_IsValidUtf8) {
    for (const char* command : {"devices", "port"}) {
        const ended how = irpctl({"--json", command});
        EXPECT_EQ(how.status, 0) << how.err;
        EXPECT_NO_THROW(static_cast<void>(boost::json::parse(how.out)))
            << command; // and checks UTF-8
        EXPECT_THAT(how.out, HasSubstr("a\\u001b[31m\xef\xbf\xbd\xc3\xa9")) << command;
    }
}

} // namespace
