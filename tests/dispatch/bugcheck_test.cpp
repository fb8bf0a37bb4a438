#include <support/ke_shorthand.hpp>

#include <dispatch/support/checks.hpp>
#include <dispatch/support/verify.hpp>
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;

struct caught {
    BUG_CHECK_REPORT report{};
    std::string name, rule, text, replay;
    std::string formatted;
    int calls = 0;
    bool throws = true;
};

void catch_report(const BUG_CHECK_REPORT* report, PVOID context) {
    auto& note = *static_cast<caught*>(context);
    ++note.calls;
    note.report = *report;
    const auto text_of = [](const char* text) { return std::string(text != nullptr ? text : ""); };
    note.name = text_of(report->Name);
    note.rule = text_of(report->Rule);
    note.text = text_of(report->Text);
    note.replay = text_of(report->Replay);
    note.formatted.resize(KeFormatBugCheck(report, nullptr, 0) + 1);
    KeFormatBugCheck(report, note.formatted.data(), note.formatted.size());
    note.formatted.pop_back();
    if (note.throws) throw std::runtime_error("bug check");
}

struct handler_installed {
    explicit handler_installed(caught& into) {
        before_ = KeSetBugCheckHandler(catch_report, &into, &context_);
    }
    ~handler_installed() { KeSetBugCheckHandler(before_, context_, nullptr); }
    handler_installed(const handler_installed&) = delete;
    handler_installed& operator=(const handler_installed&) = delete;

private:
    BUG_CHECK_HANDLER before_;
    PVOID context_ = nullptr;
};

class BugChecks : public BothMachines {};

TEST_P(BugChecks, BugCheckWithParameters_HandlerReceivesFullReport) {
    caught note;
    const handler_installed here(note);
    EXPECT_THROW(KeBugCheckEx(MANUALLY_INITIATED_CRASH, 1, 2, 3, 4), std::runtime_error);
    EXPECT_EQ(note.report.Code, MANUALLY_INITIATED_CRASH);
    for (ULONG_PTR i = 0; i < 4; ++i)
        EXPECT_EQ(note.report.Parameters[i], i + 1);
    EXPECT_EQ(note.name, "MANUALLY_INITIATED_CRASH");
    EXPECT_EQ(note.rule, "");
    ASSERT_EQ(note.report.StackCount, 1u);
    EXPECT_STREQ(note.report.Stacks[0].Label, "here");
    EXPECT_GT(note.report.Stacks[0].FrameCount, 2u);
    EXPECT_EQ(note.replay.empty(), !simulated());
}

TEST_P(BugChecks, KeBugCheckWithoutParameters_ReportsZeros) {
    caught note;
    const handler_installed here(note);
    EXPECT_THROW(KeBugCheck(MANUALLY_INITIATED_CRASH), std::runtime_error);
    for (const ULONG_PTR parameter : note.report.Parameters)
        EXPECT_EQ(parameter, 0u);
}

TEST_P(BugChecks, FormattedReport_NamesCodeTextStackAndReplay) {
    caught note;
    const handler_installed here(note);
    EXPECT_THROW(detail::bug_check(SPIN_LOCK_NOT_OWNED, "what to do about it", 0xabc),
                 std::runtime_error);
    EXPECT_EQ(note.formatted.find("*** bug check 0x10 SPIN_LOCK_NOT_OWNED (0xabc, 0x0, 0x0, 0x0)\n"
                                  "what to do about it\nstack (here):\n"),
              0u)
        << note.formatted;
    EXPECT_EQ(note.formatted.find("replay: IRPVERBS_STRATEGY=replay:r1.") != std::string::npos,
              simulated());
}

// The verifier reports a violation, and the program continues when the handler returns.
TEST_P(BugChecks, HandlerReturnsFromViolation_ProgramContinues) {
    caught note;
    note.throws = false;
    const handler_installed here(note);
    detail::violation(DRIVER_VERIFIER_DETECTED_VIOLATION, 0x42, "SomeRule", "text");
    EXPECT_EQ(note.calls, 1);
    EXPECT_EQ(note.rule, "SomeRule");
    EXPECT_EQ(note.report.Parameters[0], 0x42u);
    EXPECT_NE(note.formatted.find("\nrule: SomeRule\ntext\n"), std::string::npos);
}

// A finding carries its history and the stacks that prove it.
TEST_P(BugChecks, FindingWithHistoryAndStacks_ReportContainsBoth) {
    const std::uint64_t before = detail::findings_reported();
    detail::finding found;
    found.code = DRIVER_VERIFIER_DETECTED_VIOLATION;
    found.rule = "SomeRule";
    found.parameters[0] = 0x91;
    found.text = "text";
    found.history = "allocated\n";
    const detail::call_stack stack = detail::capture_stack(0);
    found.stacks[0] = {"first here", &stack};
    found.stacks[1] = {"then here", &stack};
    caught note;
    note.throws = false;
    const handler_installed here(note);
    detail::report(found);
    EXPECT_EQ(detail::findings_reported(), before + 1);
    EXPECT_EQ(note.report.Parameters[0], 0x91u);
    EXPECT_EQ(note.report.StackCount, 3u);
    for (const char* part : {"rule: SomeRule\ntext\nhistory:\nallocated\n",
                             "stack (first here):", "stack (then here):", "stack (here):"})
        EXPECT_NE(note.formatted.find(part), std::string::npos) << note.formatted;
}

IRPVERBS_ON_BOTH_MACHINES(BugChecks);

TEST(BugCheckHandlers, HandlerReplaced_PreviousHandlerReturned) {
    caught first, second;
    PVOID context = &context;
    EXPECT_EQ(KeSetBugCheckHandler(catch_report, &first, &context), nullptr);
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(KeSetBugCheckHandler(catch_report, &second, &context), catch_report);
    EXPECT_EQ(context, &first);
    EXPECT_EQ(KeSetBugCheckHandler(nullptr, nullptr, nullptr), catch_report);
}

TEST(BugCheckNames, EveryListedCode_HasOwnName) {
#define IRPVERBS_X_BUG_CODE(name, value) EXPECT_STREQ(KeBugCheckName(value), #name);
#include <dispatch/bugcodes.def>
#undef IRPVERBS_X_BUG_CODE
}

// An address outside every module is printed as a number.
TEST(BugCheckText, UnknownAddress_PrintedAsNumber) {
    detail::call_stack stack;
    stack.frames[0] = reinterpret_cast<void*>(0x1234);
    stack.count = 1;
    EXPECT_EQ(detail::describe(stack), "  0x1234\n");
}

TEST(BugCheckNames, UnknownCode_HasNoName) {
    EXPECT_STREQ(KeBugCheckName(0x44), "MULTIPLE_IRP_COMPLETE_REQUESTS");
    EXPECT_STREQ(KeBugCheckName(0xC9), "DRIVER_VERIFIER_IOMANAGER_VIOLATION");
    EXPECT_EQ(KeBugCheckName(0xffff), nullptr);
}

TEST(BugCheckText, HistoryAndReplay_ArePrinted) {
    BUG_CHECK_REPORT report{};
    report.Code = 0xffff;
    report.History = "allocated\ncompleted\n";
    report.Replay = "IRPVERBS_SEED=3";
    std::string text(KeFormatBugCheck(&report, nullptr, 0), '\0');
    KeFormatBugCheck(&report, text.data(), text.size() + 1);
    EXPECT_EQ(text, "*** bug check 0xFFFF (unknown) (0x0, 0x0, 0x0, 0x0)\n"
                    "history:\nallocated\ncompleted\nreplay: IRPVERBS_SEED=3\n");
}

TEST(BugCheckText, SmallBuffer_TextIsTruncated) {
    BUG_CHECK_REPORT report{};
    CHAR small[8];
    std::memset(small, 'x', sizeof small);
    EXPECT_GT(KeFormatBugCheck(&report, small, sizeof small), sizeof small);
    EXPECT_STREQ(small, "*** bug");
}

using BugCheckDeathTest = ::testing::Test;

TEST(BugCheckDeathTest, DefaultHandler_PrintsAndAborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(KeBugCheckEx(MANUALLY_INITIATED_CRASH, 7, 0, 0, 0),
                ::testing::KilledBySignal(SIGABRT),
                "bug check 0xE2 MANUALLY_INITIATED_CRASH \\(0x7, 0x0, 0x0, 0x0\\)");
}

TEST(BugCheckDeathTest, ViolationWithDefaultHandler_Aborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(detail::violation(DRIVER_VERIFIER_DETECTED_VIOLATION, 1, "SomeRule", "text"),
                ::testing::KilledBySignal(SIGABRT), "rule: SomeRule");
}

TEST(BugCheckDeathTest, HandlerReturns_ProgramAborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            KeSetBugCheckHandler(
                [](const BUG_CHECK_REPORT*, PVOID) { std::fputs("told\n", stderr); }, nullptr,
                nullptr);
            KeBugCheck(MANUALLY_INITIATED_CRASH);
        },
        ::testing::KilledBySignal(SIGABRT), "^told\n$");
}

} // namespace
