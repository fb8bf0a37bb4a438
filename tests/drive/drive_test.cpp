// irpverbs-drive as a process, as its user runs it.
#include "../irpctl/program.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <unistd.h>

namespace {

using irpverbs::testing::ended;
using irpverbs::testing::is_one_line;
using irpverbs::testing::run;

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A file of this process alone, which is removed at the end.
class scratch_file {
public:
    scratch_file() = default;
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

private:
    std::string path_ = ::testing::TempDir() + "drive_" + std::to_string(getpid());
};

/// Without the folders of the build, and addresses.
std::string without_places(std::string text) {
    text = std::regex_replace(text, std::regex(R"(/[^ ,"<]*/(pipe|crashing))"), "$1");
    return std::regex_replace(text, std::regex("0x[0-9a-f]{6,}"), "0x0");
}

/// DRIVE_WRITE_GOLDEN=1 writes the files anew.
void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = GOLDEN + name;
    if (std::getenv("DRIVE_WRITE_GOLDEN") != nullptr)
        std::ofstream(path, std::ios::binary) << without_places(text);
    EXPECT_EQ(without_places(text), read_all(path));
}

TEST(Drive, RightDriver_PassesInEveryForm) {
    for (const char* form : {"text", "json", "junit"}) {
        const ended how = run({RIGHT_DRIVER, SCRIPT, "--runs=100", "--pct=100", "--format", form});
        EXPECT_EQ(how.status, 0) << how.out << how.err;
        EXPECT_EQ(how.err, "");
        expect_golden(std::string("right.") + form, how.out);
    }
}

/// Without the frames of call stacks, which differ from build to build.
std::string without_stacks(const std::string& text) {
    return std::regex_replace(text, std::regex("(stack \\([^\n]*\n)(  [^\n]*\n)+"), "$1");
}

TEST(Drive, DriverWithAMistake_IsReportedUnderItsRule) {
    const ended how = run({WRONG_DRIVER, SCRIPT});
    expect_golden("wrong.text", without_stacks(how.out));
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "FAILED")) << how.out << how.err;
    EXPECT_TRUE(has(how.out, "rule: IrpCancelField")) << how.out;
    EXPECT_TRUE(has(how.out, "replay: IRPVERBS_STRATEGY=replay:")) << how.out;
    EXPECT_TRUE(has(how.out, "canceller")) << how.out;
    EXPECT_FALSE(has(how.out, "drive::")) << "a frame of the program: " << how.out;
}

void expect_complaint(const ended& how, int status, const std::string& part) {
    EXPECT_EQ(how.status, status) << how.err;
    EXPECT_TRUE(is_one_line(how.err)) << how.err;
    EXPECT_TRUE(has(how.err, part)) << how.err;
    EXPECT_EQ(how.out, "");
}

TEST(Drive, ReplayLine_RepeatsTheFailure) {
    const ended found = run({WRONG_DRIVER, SCRIPT, "--format=json"});
    std::smatch line;
    ASSERT_TRUE(std::regex_search(found.out, line, std::regex("\"replay\":\"([^\"]*)\"")));
    const ended again = run({WRONG_DRIVER, SCRIPT, "--format=json", "--replay", line[1]});
    EXPECT_EQ(again.status, 1) << again.err;
    EXPECT_TRUE(has(again.out, "\"runs\":1,")) << again.out;
    EXPECT_TRUE(has(again.out, line[1])) << "the line is repeated with its mark: " << again.out;
}

TEST(Drive, ReplayLineOfAnotherDriverOrScript_IsRefused) {
    const scratch_file script;
    std::ofstream(script.path()) << read_all(SCRIPT) << "# another one\n";
    const ended found = run({WRONG_DRIVER, SCRIPT, "--format=json"});
    std::smatch line;
    ASSERT_TRUE(std::regex_search(found.out, line, std::regex("\"replay\":\"([^\"]*)\"")));
    const std::string marked = line[1];
    const std::string unmarked = marked.substr(0, marked.rfind('.'));
    expect_complaint(run({RIGHT_DRIVER, SCRIPT, "--replay", marked}), 2, "another driver");
    expect_complaint(run({WRONG_DRIVER, script.path(), "--replay", marked}), 2,
                     "another driver or script");
    expect_complaint(run({WRONG_DRIVER, SCRIPT, "--replay", unmarked}), 2, "another driver");
    EXPECT_EQ(run({WRONG_DRIVER, SCRIPT, "--one-process", "--replay", unmarked}).status, 1);
    setenv("IRPVERBS_STRATEGY", marked.substr(marked.find('=') + 1).c_str(), 1);
    expect_complaint(run({RIGHT_DRIVER, SCRIPT}), 2, "another driver");
    EXPECT_EQ(run({WRONG_DRIVER, SCRIPT}).status, 1);
    unsetenv("IRPVERBS_STRATEGY");
}

TEST(Drive, DriverThatCrashes_IsAShrunkFailure) {
    for (const char* form : {"text", "json", "junit"}) {
        const ended how = run({CRASHING_DRIVER, SCRIPT, "--format", form});
        EXPECT_EQ(how.status, 1) << how.out << how.err;
        EXPECT_TRUE(has(how.out, "SIGSEGV")) << how.out;
        EXPECT_TRUE(has(how.out, "after ")) << how.out;
    }
}

TEST(Drive, PlugAndPlay_IsSentToOneDeviceOneRequestAtATime) {
    const ended how = run({PLUGGED_DRIVER, PLUGGED_SCRIPT, "--runs=300", "--pct=300"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
    const ended other = run({RIGHT_DRIVER, PLUGGED_SCRIPT});
    EXPECT_EQ(other.status, 1);
    EXPECT_TRUE(has(other.out, "add: STATUS_INVALID_DEVICE_REQUEST")) << other.out;
}

TEST(Drive, PlugAndPlayRequestThatTheDriverDoesNotKnow_KeepsItsStatus) {
    const ended how = run({PLUGGED_DRIVER_THAT_SUCCEEDS_ALWAYS, PLUGGED_SCRIPT});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "rule: PnpStatusChanged")) << how.out;
}

TEST(Drive, AccountOfAnOpen_IsCheckedByTheDevicesDescriptor) {
    const ended how = run({GUARDED_DRIVER, GUARDED_SCRIPT, "--runs=300", "--pct=300"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
}

TEST(Drive, DriverOfWindows_ReadsItsRegistryKeyAndServesItsInterrupt) {
    const ended how = run({SENSOR_DRIVER, SENSOR_SCRIPT, "--runs=300", "--pct=300"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
}

TEST(Drive, SettingThatTheDriverRefuses_FailsItsLoad) {
    const scratch_file script;
    std::ofstream(script.path()) << "registry Parameters\\Scale dword 0\nsetup\n add\n";
    const ended how = run({SENSOR_DRIVER, script.path(), "--runs=1", "--pct=0"});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "DriverEntry returned STATUS_INVALID_PARAMETER")) << how.out;
}

TEST(Drive, DpcOfAServiceRoutineThatOutlivesItsInterrupt_IsFound) {
    const ended how = run({SENSOR_WITHOUT_THE_FLUSH, SENSOR_SCRIPT, "--runs=2000", "--pct=2000"});
    EXPECT_EQ(how.status, 1) << how.out << how.err;
    EXPECT_TRUE(has(how.out, "SensorDpc")) << how.out; // it uses a freed interrupt, or NULL
}

TEST(Drive, DriverThatLeavesNothing_IsLoadedAgain) {
    const ended how = run({LEAVING_DRIVER, LEAVING_SCRIPT, "--runs=100", "--pct=100"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
}

TEST(Drive, ThreadThatOutlivesItsDriver_IsReported) {
    const ended how = run({DRIVER_WITH_A_LEFT_THREAD, LEAVING_SCRIPT});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "rule: ThreadOutlivesDriver")) << how.out;
}

/// A run of the driver that keeps an object of that number (keeping.c) at its unload.
ended run_keeping(int number) {
    const scratch_file script;
    std::ofstream(script.path()) << "registry Keeps dword " << number << "\nactor user\n"
                                 << " open f \\Device\\Keeping\n read f 4\n close f\n";
    const ended how = run({KEEPING_DRIVER, script.path(), "--runs=50", "--pct=50"});
    return how;
}

TEST(Drive, DriverThatKeepsNothing_IsNotReported) {
    const ended how = run_keeping(0);
    EXPECT_EQ(how.status, 0) << how.out << how.err;
}

void expect_kept(int number, const std::string& rule, const std::string& text) {
    const ended how = run_keeping(number);
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "rule: " + rule + '\n')) << how.out;
    EXPECT_TRUE(has(how.out, text)) << how.out;
    EXPECT_TRUE(has(how.out, "DriverEntry") || has(how.out, "Unload") || has(how.out, "Read"))
        << how.out;
}

TEST(Drive, ObjectThatIsActiveAtUnload_IsReportedByItsName) {
    expect_kept(1, "TimerFreed", "a timer that is set, its variable Timer, whose routine is Tick");
    expect_kept(2, "WorkItemFreed", "a work item that is queued, its variable WorkItem");
    expect_kept(3, "LookasideFreed", "a lookaside list that was not deleted, its variable Look");
    expect_kept(4, "ResourceFreed", "an ERESOURCE that was not deleted, its variable Resource");
    expect_kept(5, "ThreadOutlivesDriver", "a system thread that has not ended, whose routine is");
}

TEST(Drive, MemoryHandleAndReferenceThatAreNeverReleased_AreReported) {
    expect_kept(6, "PoolLeak", "with tag 'IoWi'");
    expect_kept(7, "HandleLeak", "a handle of a thread is never closed");
    expect_kept(8, "HandleLeak", "a handle of a key is never closed");
    expect_kept(9, "ObjectLeak", "a reference to a thread is never released");
    expect_kept(10, "ObjectLeak", "a reference to a device is never released");
    expect_kept(11, "ObjectLeak", "a reference to a file is never released");
}

TEST(Drive, FileThatTheScriptOpensTwiceUnderOneName_IsNoLeakOfTheDriver) {
    const scratch_file script;
    std::ofstream(script.path())
        << "actor user\n open f \\Device\\Keeping\n open f \\Device\\Keeping\n";
    const ended how = run({KEEPING_DRIVER, script.path(), "--runs=10", "--pct=10"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
}

TEST(Drive, LinkThatIsLeftAtUnload_KeepsTheDriverFromBeingLoadedAgain) {
    const ended how = run({DRIVER_WITH_A_LEFT_LINK, LEAVING_SCRIPT});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "can't be loaded again")) << how.out;
}

TEST(Drive, ReturnedBytesThatTheDriverNeverSet_AreCounted) {
    const ended how = run({DRIVER_WITH_LEFT_BYTES, LEAVING_SCRIPT});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "returned 32 bytes, of which the driver never set the last 31"))
        << how.out;
}

TEST(Drive, UndefinedFunction_FailsTheRunThatCallsIt) {
    const ended how = run({DRIVER_THAT_CALLS_NOTHING, LEAVING_SCRIPT});
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "undefined symbol: UndefinedFunction")) << how.out << how.err;
}

/// Runs of a driver of losing.c; `expected`: of the read.
ended run_losing(const std::string& driver, const std::string& expected,
                 const std::string& completes) {
    const scratch_file script;
    std::ofstream(script.path())
        << "setup\n open f \\Device\\Losing\nactor reader\n read f 4 expect " << expected
        << "\nactor writer\n write f \"x\"" << completes << "\nactor canceller\n cancel f\n";
    const ended how = run({driver, script.path(), "--runs=300", "--pct=300"});
    return how;
}

TEST(Drive, RequestThatStaysPending_FailsUnlessItMay) {
    const ended how = run_losing(PATIENT_DRIVER, "STATUS_SUCCESS|STATUS_CANCELLED", "");
    EXPECT_EQ(how.status, 1);
    EXPECT_TRUE(has(how.out, "was not completed within a minute")) << how.out;
    for (const char* part : {"is outstanding:\n", "reader at IRQL 0: sent, location 1, device#1"})
        EXPECT_TRUE(has(how.out, part)) << part << " is missing:\n" << how.out;
    const ended may = run_losing(PATIENT_DRIVER, "STATUS_SUCCESS|STATUS_CANCELLED|pending", "");
    EXPECT_EQ(may.status, 0) << may.out;
    const ended any = run_losing(PATIENT_DRIVER, "any|pending", "");
    EXPECT_EQ(any.status, 0) << any.out;
    EXPECT_EQ(run_losing(PATIENT_DRIVER, "any", "").status, 1);
}

TEST(Drive, RequestThatIsLostByTheCommandThatCompletesIt_FailsTheRun) {
    const std::string expected = "STATUS_SUCCESS|STATUS_CANCELLED|pending";
    const ended lost = run_losing(DRIVER_THAT_LOSES_A_READ, expected, " completes reader");
    EXPECT_EQ(lost.status, 1);
    EXPECT_TRUE(has(lost.out, "though a command that completes it has succeeded")) << lost.out;
    const ended right = run_losing(PATIENT_DRIVER, expected, " completes reader");
    EXPECT_EQ(right.status, 0) << right.out;
}

TEST(Drive, Report_GoesToTheNamedFile) {
    const scratch_file report;
    const ended how = run(
        {RIGHT_DRIVER, SCRIPT, "--runs=1", "--pct=0", "--format=junit", "--output", report.path()});
    EXPECT_EQ(how.status, 0);
    EXPECT_EQ(how.out, "");
    EXPECT_TRUE(has(read_all(report.path()), "failures=\"0\""));
}

TEST(Drive, NoRuns_DoNotPass) {
    EXPECT_EQ(run({RIGHT_DRIVER, SCRIPT, "--runs=0", "--pct=0"}).status, 1);
}

TEST(Drive, Help_NamesOptionsAndCommands) {
    const ended how = run({"--help"});
    EXPECT_EQ(how.status, 0);
    expect_golden("help.txt", how.out);
}

TEST(Drive, WrongUse_IsOneLineAndItsStatus) {
    expect_complaint(run({}), 2, "DRIVER");
    expect_complaint(run({RIGHT_DRIVER, SCRIPT, "--runs=many"}), 2, "--runs");
    expect_complaint(run({RIGHT_DRIVER, SCRIPT, "--format=xml"}), 2, "--format");
    expect_complaint(run({RIGHT_DRIVER, "/nowhere.script"}), 2, "/nowhere.script");
    expect_complaint(run({RIGHT_DRIVER, SCRIPT, "--verifier=nonsense"}), 2, "nonsense");
    expect_complaint(run({RIGHT_DRIVER, SCRIPT, "--replay=replay:nonsense"}), 2, "replay");
    for (const char* name : {"IRPVERBS_STRATEGY", "IRPVERBS_SEEDS", "IRPVERBS_VERIFIER"}) {
        setenv(name, "nonsense", 1);
        expect_complaint(run({RIGHT_DRIVER, SCRIPT}), 2, name);
        unsetenv(name);
    }
    expect_complaint(run({"/nowhere.so", SCRIPT}), 1, "/nowhere.so");
    expect_complaint(run({SCRIPT, SCRIPT}), 1, "pipe.script");
}

TEST(Drive, ResourcesOfTheScript_ComeWithTheStart) {
    const ended how = run({BOARD_DRIVER, BOARD_SCRIPT, "--runs=100"});
    EXPECT_EQ(how.status, 0) << how.out << how.err;
    EXPECT_EQ(how.err, "") << "no run failed, and their messages are not printed";
}

std::size_t count_of(const std::string& part, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

TEST(Drive, MessagesOfTheDriver_AreThoseOfTheRunThatFailed) {
    const char* const message = "board: 256 bytes of registers\n";
    const ended how = run({BOARD_THAT_KEEPS_ITS_INTERRUPT, BOARD_SCRIPT, "--format=json"});
    EXPECT_EQ(how.status, 1) << how.out;
    EXPECT_EQ(count_of(message, how.err), 1u) << how.err;
    std::smatch line;
    ASSERT_TRUE(std::regex_search(how.out, line, std::regex("\"replay\":\"([^\"]*)\"")));
    const ended again = run({BOARD_THAT_KEEPS_ITS_INTERRUPT, BOARD_SCRIPT, "--replay", line[1]});
    EXPECT_EQ(count_of(message, again.err), 1u) << again.err;
}

TEST(Drive, RightDriver_PassesWhenTheInputChangesAndCallsFail) {
    EXPECT_EQ(run({ADDING_DRIVER, ADDING_SCRIPT, "--runs=300", "--pct=300"}).status, 0);
    const ended how = run({ADDING_DRIVER, ADDING_SCRIPT, "--runs=1000", "--faults"});
    EXPECT_EQ(how.status, 0) << how.out;
}

void expect_rule(const std::string& rule, const ended& how) {
    EXPECT_EQ(how.status, 1) << how.err;
    EXPECT_TRUE(has(how.out, "rule: " + rule)) << how.out;
}

TEST(Drive, LengthThatIsLoadedTwice_IsFoundByAnInputThatChanges) {
    expect_rule("PoolOverrun", run({ADDING_DRIVER_THAT_LOADS_TWICE, ADDING_SCRIPT}));
}

TEST(Drive, BufferThatIsWrittenAfterTheRequest_IsReported) {
    const ended how = run({ADDING_DRIVER_THAT_WRITES_LATE, ADDING_SCRIPT});
    EXPECT_EQ(how.status, 1) << how.err;
    // A driver that is compiled with AddressSanitizer ends at the access.
    EXPECT_TRUE(has(how.out, "rule: FreedMemoryWritten") || has(how.out, "use-after-poison"))
        << how.out;
}

TEST(Drive, DriverEntryThatFails_MustLeaveNothing) {
    const char* const driver = ADDING_DRIVER_THAT_LEAVES_ITS_TABLE;
    EXPECT_EQ(run({driver, ADDING_SCRIPT, "--runs=300"}).status, 0);
    expect_rule("PoolLeak", run({driver, ADDING_SCRIPT, "--runs=3000", "--faults"}));
}

} // namespace
