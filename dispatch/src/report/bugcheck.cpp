#include "frames.hpp"

#include <dispatch/bugcheck.h>
#include <dispatch/machine.hpp>
#include <dispatch/support/checks.hpp>
#include <dispatch/support/faults.hpp>
#include <dispatch/support/machine_hooks.hpp>
#include <dispatch/support/verify.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace irpverbs::dispatch::detail {
namespace {

std::mutex process_lock;
bug_check_callback process_callback; // guarded by process_lock
std::atomic<std::uint64_t> findings_counted{0};
std::atomic<finding_filter> filter{nullptr};

void add_stack(BUG_CHECK_REPORT& report, const char* label) {
    BUG_CHECK_STACK& stack = report.Stacks[report.StackCount++];
    stack.Label = label;
    const int frames = backtrace(stack.Frames, BUG_CHECK_MAXIMUM_FRAMES);
    stack.FrameCount = frames > 0 ? static_cast<ULONG>(frames) : 0;
}

void add_stack(BUG_CHECK_REPORT& report, const char* label, const call_stack& where) {
    BUG_CHECK_STACK& stack = report.Stacks[report.StackCount++];
    stack.Label = label;
    stack.FrameCount = where.count;
    std::copy_n(where.frames, where.count, stack.Frames);
}

std::string format(const BUG_CHECK_REPORT& report) {
    char head[160];
    std::snprintf(head, sizeof head, "*** bug check 0x%X %s (0x%zx, 0x%zx, 0x%zx, 0x%zx)\n",
                  report.Code, report.Name != nullptr ? report.Name : "(unknown)",
                  static_cast<std::size_t>(report.Parameters[0]),
                  static_cast<std::size_t>(report.Parameters[1]),
                  static_cast<std::size_t>(report.Parameters[2]),
                  static_cast<std::size_t>(report.Parameters[3]));
    std::string text = head;
    if (report.Rule != nullptr) text += std::string("rule: ") + report.Rule + "\n";
    if (report.Text != nullptr) text += std::string(report.Text) + "\n";
    if (report.History != nullptr) text += std::string("history:\n") + report.History;
    for (ULONG i = 0; i < report.StackCount; ++i) {
        const BUG_CHECK_STACK& stack = report.Stacks[i];
        text += std::string("stack (") + stack.Label + "):\n";
        text += describe_frames_or_all({stack.Frames, stack.FrameCount});
    }
    if (report.Replay != nullptr) text += std::string("replay: ") + report.Replay + "\n";
    return text;
}

bug_check_callback exchange_process_callback(const bug_check_callback& fresh) {
    const std::lock_guard guard(process_lock);
    return std::exchange(process_callback, fresh);
}

bug_check_callback callback_of_process() {
    const std::lock_guard guard(process_lock);
    return process_callback;
}

void emit_report(BUG_CHECK_REPORT& report, bool may_be_filtered) {
    report.Name = KeBugCheckName(report.Code);
    add_stack(report, "here");
    std::string label;
    if (current != nullptr) {
        report.Replay = current->owner->replay_line();
        const std::optional<injected_fault> fault =
            instrumented() ? last_fault(*current->owner) : std::nullopt;
        if (fault && report.StackCount < BUG_CHECK_MAXIMUM_STACKS) {
            label = std::string("made to fail: ") + fault->site;
            add_stack(report, label.c_str(), fault->where);
        }
    }
    const finding_filter first = may_be_filtered ? filter.load() : nullptr;
    if (first != nullptr && first(report)) return;
    if (current != nullptr && current->owner->on_bug_check(report)) return;
    if (const bug_check_callback last = callback_of_process(); last.handler != nullptr) {
        last.handler(&report, last.context);
        return;
    }
    std::fputs(format(report).c_str(), stderr);
    std::abort();
}

BUG_CHECK_REPORT make_report(ULONG code, const char* rule, const char* text, ULONG_PTR p1,
                             ULONG_PTR p2, ULONG_PTR p3, ULONG_PTR p4) {
    BUG_CHECK_REPORT report{};
    report.Code = code;
    report.Parameters[0] = p1;
    report.Parameters[1] = p2;
    report.Parameters[2] = p3;
    report.Parameters[3] = p4;
    report.Rule = rule;
    report.Text = text;
    return report;
}

} // namespace

void bug_check(ULONG code, const char* text, ULONG_PTR p1, ULONG_PTR p2, ULONG_PTR p3,
               ULONG_PTR p4) {
    BUG_CHECK_REPORT report = make_report(code, nullptr, text, p1, p2, p3, p4);
    emit_report(report, false);
    std::abort();
}

void violation(ULONG code, ULONG_PTR id, const char* rule, const char* text, ULONG_PTR p2,
               ULONG_PTR p3, ULONG_PTR p4) {
    BUG_CHECK_REPORT report = make_report(code, rule, text, id, p2, p3, p4);
    findings_counted.fetch_add(1, std::memory_order_relaxed);
    emit_report(report, true);
}

void report(const finding& found) {
    const ULONG_PTR* p = found.parameters;
    BUG_CHECK_REPORT report =
        make_report(found.code, found.rule, found.text.c_str(), p[0], p[1], p[2], p[3]);
    if (!found.history.empty()) report.History = found.history.c_str();
    for (const finding::evidence& each : found.stacks)
        if (each.stack != nullptr) add_stack(report, each.label, *each.stack);
    findings_counted.fetch_add(1, std::memory_order_relaxed);
    emit_report(report, true);
}

void set_finding_filter(finding_filter chosen) noexcept { filter.store(chosen); }

std::string describe(const call_stack& stack) {
    return describe_frames({stack.frames, stack.count});
}

std::uint64_t findings_reported() { return findings_counted.load(std::memory_order_relaxed); }

void check_irql(const irql_rule& rule) {
    if (!enabled(check::irql)) return;
    const KIRQL level = this_processor().irql;
    const bool kept = rule.bound == irql_bound::at_most    ? level <= rule.level
                      : rule.bound == irql_bound::at_least ? level >= rule.level
                                                           : level == rule.level;
    if (kept) return;
    static constexpr const char* bounds[] = {"at or below", "at or above", "at"};
    char text[160];
    std::snprintf(text, sizeof text, "%s was called at IRQL %u; it may be called only %s IRQL %u",
                  rule.function, unsigned{level}, bounds[static_cast<int>(rule.bound)],
                  unsigned{rule.level});
    violation(DRIVER_VERIFIER_DETECTED_VIOLATION, rule.id, rule.sdv, text, level, rule.level);
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch::detail;

extern "C" {

BUG_CHECK_HANDLER KeSetBugCheckHandler(BUG_CHECK_HANDLER Handler, PVOID Context,
                                       PVOID* PreviousContext) noexcept {
    const bug_check_callback fresh{Handler, Context};
    bug_check_callback* const own =
        current != nullptr ? current->owner->own_bug_check_callback() : nullptr;
    const bug_check_callback previous =
        own != nullptr ? std::exchange(*own, fresh) : exchange_process_callback(fresh);
    if (PreviousContext != nullptr) *PreviousContext = previous.context;
    return previous.handler;
}

void KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR BugCheckParameter1, ULONG_PTR BugCheckParameter2,
                  ULONG_PTR BugCheckParameter3, ULONG_PTR BugCheckParameter4) {
    bug_check(BugCheckCode, nullptr, BugCheckParameter1, BugCheckParameter2, BugCheckParameter3,
              BugCheckParameter4);
}

void KeBugCheck(ULONG BugCheckCode) { bug_check(BugCheckCode, nullptr); }

const char* KeBugCheckName(ULONG BugCheckCode) noexcept {
    switch (BugCheckCode) {
#define IRPVERBS_X_BUG_CODE(name, value)                                                           \
    case value:                                                                                    \
        return #name;
#include <dispatch/bugcodes.def>
#undef IRPVERBS_X_BUG_CODE
    default:
        return nullptr;
    }
}

SIZE_T KeFormatBugCheck(const BUG_CHECK_REPORT* Report, CHAR* Buffer, SIZE_T Size) {
    const std::string text = format(*Report);
    if (Size != 0) std::snprintf(Buffer, Size, "%s", text.c_str());
    return text.size();
}

} // extern "C"
