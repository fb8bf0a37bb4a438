// Runs a function and catches the first bug check that it causes.
#pragma once

#include <dispatch/bugcheck.h>

#include <optional>
#include <string>

namespace irpverbs::testing {

struct broken_rule {
    ULONG code = 0;   // the bug check
    ULONG_PTR id = 0; // its first parameter
    std::string rule; // the verifier's rule; empty for a bug check of the core
    std::string text;
};

/// The first report that `function` causes, which ends it by an exception; empty if there was none.
template <class Function>
std::optional<broken_rule> report_of(const Function& function) {
    PVOID before_context = nullptr;
    const BUG_CHECK_HANDLER before = KeSetBugCheckHandler(
        [](const BUG_CHECK_REPORT* report, PVOID) {
            throw broken_rule{report->Code, report->Parameters[0],
                              report->Rule != nullptr ? report->Rule : "",
                              report->Text != nullptr ? report->Text : ""};
        },
        nullptr, &before_context);
    std::optional<broken_rule> found;
    try {
        function();
    } catch (broken_rule& thrown) {
        found = std::move(thrown);
    }
    KeSetBugCheckHandler(before, before_context, nullptr);
    return found;
}

/// The code of that report; 0 if there was none.
template <class Function>
ULONG bug_check_of(const Function& function) {
    return report_of(function).value_or(broken_rule{}).code;
}

} // namespace irpverbs::testing
