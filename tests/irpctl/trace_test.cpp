// irpctl trace: the file it leaves, and the cases in which it leaves none.
#include "program.hpp"

#include <support/trace_rules.hpp>

#include <boost/json/src.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace {

using namespace irpverbs::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A folder for one test.
class IrpctlTrace : public ::testing::Test {
protected:
    IrpctlTrace() { std::filesystem::create_directories(folder_); }
    ~IrpctlTrace() override { std::filesystem::remove_all(folder_); }

    std::string file() const { return folder_ + "/run.json"; }
    std::string link() const { return folder_ + "/link"; }
    bool is_empty() const { return std::filesystem::is_empty(folder_); }
    trace_contents read() const {
        std::ifstream in(file());
        return expect_trace(std::string(std::istreambuf_iterator<char>(in), {}));
    }

    void link_to(const std::string& what) const { std::filesystem::create_symlink(what, link()); }

private:
    std::string folder_ = ::testing::TempDir() + "irpctl_trace_" + std::to_string(getpid());
};

// A subnet manager would have IRPs of its own.
const std::string without_manager = "software:?static";

TEST_F(IrpctlTrace, TracedCommand_NamesVerbsAndDevices) {
    const ended how = run({"--hca", without_manager, "trace", "-o", file(), "port", "1"});
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_EQ(how.out, run({"--hca", without_manager, "port", "1"}).out);
    const trace_contents found = read();
    for (const char* name : {"CiOpenCa to host1", "CiQueryCa to host1", "CiQueryPort to host1",
                             "CiCloseCa to host1", "completion routine of the originator"})
        EXPECT_TRUE(found.has(name)) << name;
    EXPECT_GE(found.arrows, found.spans);
    EXPECT_EQ(found.spans, 4u);
}

TEST_F(IrpctlTrace, InterruptedWait_TraceHasCancels) {
    program events({"--hca", without_manager, "trace", "-o", file(), "events"});
    EXPECT_THAT(events.line(), StartsWith("TIME"));
    EXPECT_TRUE(is_empty());
    events.send(SIGINT);
    EXPECT_EQ(events.wait().status, 0);
    const trace_contents found = read();
    EXPECT_EQ(found.cancels, 9u);
    EXPECT_EQ(found.names.count("CiCloseCa to host1"), 1u);
    EXPECT_TRUE(found.has("cancel routine of host1"));
}

TEST_F(IrpctlTrace, FailedCommand_TraceIsWritten) {
    EXPECT_EQ(run({"trace", "-o", file(), "port", "host1", "99"}).status, 1);
    EXPECT_TRUE(read().has("CiCloseCa to host1"));
}

TEST_F(IrpctlTrace, KilledCommand_WritesNoTrace) {
    program events({"trace", "-o", file(), "events"});
    EXPECT_THAT(events.line(), StartsWith("TIME"));
    events.send(SIGKILL);
    EXPECT_EQ(events.wait().signal, SIGKILL);
    EXPECT_TRUE(is_empty());
}

// The target of the link may exist or not.
TEST_F(IrpctlTrace, OutputIsSymlink_WritesTarget) {
    link_to("run.json");
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(run({"trace", "-o", link(), "devices"}).status, 0);
        EXPECT_TRUE(std::filesystem::is_symlink(link()));
        EXPECT_TRUE(read().has("CiCloseCa to host1"));
    }
}

TEST_F(IrpctlTrace, OutputIsFifo_WritesToFifo) {
    ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
    program traced({"trace", "-o", file(), "devices"});
    EXPECT_TRUE(read().has("CiCloseCa to host1"));
    EXPECT_EQ(traced.wait().status, 0);
    EXPECT_TRUE(std::filesystem::is_fifo(file()));
}

TEST_F(IrpctlTrace, FullDevice_ExitsWith1) {
    link_to("/dev/full");
    const std::vector<std::vector<std::string>> commands = {
        {"trace", "-o", link(), "devices"}, {"ping", "--count", "1", "--pcap", link()}};
    for (const std::vector<std::string>& each : commands) {
        const ended how = run(each);
        EXPECT_EQ(how.status, 1);
        EXPECT_TRUE(is_one_line(how.err)) << how.err;
        EXPECT_THAT(how.err, HasSubstr("No space left on device"));
        EXPECT_TRUE(std::filesystem::is_symlink(link()));
        EXPECT_TRUE(std::filesystem::is_character_file(link()));
    }
}

} // namespace
