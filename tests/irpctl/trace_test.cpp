// irpctl trace: the file it leaves, and when it leaves none.
#include "program.hpp"

#include <support/trace_rules.hpp>

#include <boost/json/src.hpp>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

using namespace irpverbs::testing;
using ::testing::StartsWith;

/// A folder for one test.
class IrpctlTrace : public ::testing::Test {
protected:
    IrpctlTrace() { std::filesystem::create_directories(folder_); }
    ~IrpctlTrace() override { std::filesystem::remove_all(folder_); }

    std::string file() const { return folder_ + "/run.json"; }
    bool is_empty() const { return std::filesystem::is_empty(folder_); }
    trace_contents read() const {
        std::ifstream in(file());
        return expect_trace(std::string(std::istreambuf_iterator<char>(in), {}));
    }

private:
    std::string folder_ = ::testing::TempDir() + "irpctl_trace_" + std::to_string(getpid());
};

// A subnet manager has IRPs of its own.
const std::string without_manager = "software:?static";

TEST_F(IrpctlTrace, NamesVerbsAndDevices) {
    const ended how = run({"--hca", without_manager, "trace", "-o", file(), "port", "1"});
    EXPECT_EQ(how.status, 0) << how.err;
    EXPECT_EQ(how.out, run({"--hca", without_manager, "port", "1"}).out);
    const trace_contents found = read();
    for (const char* name : {"CiOpenCa to host1", "CiQueryCa to host1", "CiQueryPort to host1",
                             "CiCloseCa to host1", "completion routine of the maker"})
        EXPECT_TRUE(found.has(name)) << name;
    EXPECT_GE(found.arrows, found.spans);
    EXPECT_EQ(found.spans, 4u);
}

TEST_F(IrpctlTrace, OfAnInterruptedWaitShowsTheCancels) {
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

TEST_F(IrpctlTrace, OfAFailureIsWrittenToo) {
    EXPECT_EQ(run({"trace", "-o", file(), "port", "host1", "99"}).status, 1);
    EXPECT_TRUE(read().has("CiCloseCa to host1"));
}

TEST_F(IrpctlTrace, KilledHalfWayLeavesNothing) {
    program events({"trace", "-o", file(), "events"});
    EXPECT_THAT(events.line(), StartsWith("TIME"));
    events.send(SIGKILL);
    EXPECT_EQ(events.wait().signal, SIGKILL);
    EXPECT_TRUE(is_empty());
}

} // namespace
