#include "report.hpp"

#include "engine.hpp"
#include "interruption.hpp"

#include <cstdio>
#include <cstring>

namespace irpverbs::conformance {

namespace {

const char* proves(const ::testing::TestResult& result) {
    for (int i = 0; i < result.test_property_count(); ++i)
        if (std::strcmp(result.GetTestProperty(i).key(), proves_property) == 0)
            return result.GetTestProperty(i).value();
    return "";
}

std::string messages_of(const ::testing::TestResult& result) {
    std::string text;
    for (int i = 0; i < result.total_part_count(); ++i)
        text += result.GetTestPartResult(i).message() + std::string("\n");
    return text;
}

std::string needs_of(const test_case& each) {
    std::string text;
    const auto add = [&](unsigned which, const char* name) {
        if ((each.needs & which) == 0) return;
        if (!text.empty()) text += ", ";
        text += name;
    };
    add(port_events, "port events");
    add(fatal_events, "a fatal event");
    add(completions, "completions");
    add(dispatch_callers, "callers at DISPATCH_LEVEL");
    return text;
}

bool was_not_run(const ::testing::TestResult& result) {
    return result.Skipped() && result.total_part_count() > 0 &&
           std::strstr(result.GetTestPartResult(0).message(), interrupted_reason) != nullptr;
}

} // namespace

void report::OnTestEnd(const ::testing::TestInfo& test) {
    const ::testing::TestResult& result = *test.result();
    if (was_not_run(result)) {
        ++not_run_;
        return;
    }
    const char* verdict = result.Failed() ? "FAIL" : result.Skipped() ? "skip" : "pass";
    std::printf("%s  %s.%s", verdict, test.test_suite_name(), test.name());
    if (result.Skipped()) std::printf(": %s", messages_of(result).c_str());
    if (!result.Skipped()) std::printf("\n");
    if (result.Failed())
        std::printf("      does not hold: \"%s\"\n%s\n", proves(result),
                    messages_of(result).c_str());
    std::fflush(stdout);
}

void report::OnTestProgramEnd(const ::testing::UnitTest& all) {
    std::printf("%d passed, %d skipped, %d failed, on %s\n", all.successful_test_count(),
                all.skipped_test_count() - not_run_, all.failed_test_count(), subject_.c_str());
    if (interruption() != 0) std::printf("interrupted: %d cases were not run\n", not_run_);
}

std::string list_of_cases(bool markdown) {
    std::string text = markdown ? "| case | proves | needs |\n| --- | --- | --- |\n" : "";
    for (const test_case* each : all_cases())
        text += markdown ? std::string("| `") + each->name + "` | " + each->proves + " | " +
                               needs_of(*each) + " |\n"
                         : std::string(each->name) + "\n    " + each->proves + '\n';
    return text;
}

} // namespace irpverbs::conformance
