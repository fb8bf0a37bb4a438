// Collects the reports of the verifier while a test runs.
#pragma once

#include <dispatch/bugcheck.h>
#include <dispatch/support/verify.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::testing {

inline constexpr ULONG violation = DRIVER_VERIFIER_DETECTED_VIOLATION;
inline constexpr ULONG io_violation = DRIVER_VERIFIER_IOMANAGER_VIOLATION;

/// Enables exactly the given checks for the life of the scope.
class checks_scope {
public:
    explicit checks_scope(std::uint32_t bits) : before_(dispatch::detail::enabled_checks.load()) {
        dispatch::detail::set_enabled_checks(bits);
    }
    checks_scope(std::initializer_list<dispatch::detail::check> things)
        : checks_scope(bits_of(things)) {}
    ~checks_scope() { dispatch::detail::set_enabled_checks(before_); }
    checks_scope(const checks_scope&) = delete;
    checks_scope& operator=(const checks_scope&) = delete;

    static std::uint32_t bits_of(std::initializer_list<dispatch::detail::check> things) {
        std::uint32_t bits = 0;
        for (const dispatch::detail::check each : things)
            bits |= static_cast<std::uint32_t>(each);
        return bits;
    }

private:
    std::uint32_t before_;
};

/// Thrown for a bug check of the core, which must not return, unlike a report of the verifier.
struct stopped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A copy of a report.
struct reported_finding {
    ULONG code;
    std::vector<ULONG_PTR> parameters;
    std::string rule; // empty: a bug check of the core
    std::string text;
    std::string history;
    std::vector<std::string> stacks; // their labels; only those that have frames
    std::string report;              // the text of KeFormatBugCheck

    bool has_stack(const std::string& label) const {
        for (const std::string& each : stacks)
            if (each == label) return true;
        return false;
    }
};

/// Enables checks and collects their reports: the program continues after a report of the verifier,
/// and a bug check of the core throws `stopped`.
class findings {
public:
    explicit findings(std::uint32_t bits) : checks_(bits) { install(); }
    findings(std::initializer_list<dispatch::detail::check> things) : checks_(things) { install(); }
    ~findings() { KeSetBugCheckHandler(handler_, context_, nullptr); }
    findings(const findings&) = delete;
    findings& operator=(const findings&) = delete;

    /// A copy of all reports so far.
    std::vector<reported_finding> all() const {
        const std::lock_guard guard(lock_);
        return all_;
    }
    bool none() const { return all().empty(); }

    /// The reports that name `rule`.
    std::vector<reported_finding> of(const std::string& rule) const {
        std::vector<reported_finding> some;
        for (reported_finding& each : all())
            if (each.rule == rule) some.push_back(std::move(each));
        return some;
    }

    void clear() {
        const std::lock_guard guard(lock_);
        all_.clear();
    }

    /// All reports as text, for a failing test.
    std::string text() const {
        std::string text;
        for (const reported_finding& each : all())
            text += each.report;
        return text;
    }

    /// A simulated machine has a handler of its own: while this lives, that of the machine which
    /// the caller is on collects too, and its runs go on after a finding.
    class on_this_machine {
    public:
        explicit on_this_machine(const findings& seen)
            : before_(KeSetBugCheckHandler(&findings::receive, const_cast<findings*>(&seen),
                                           &context_)) {}
        ~on_this_machine() { KeSetBugCheckHandler(before_, context_, nullptr); }
        on_this_machine(const on_this_machine&) = delete;
        on_this_machine& operator=(const on_this_machine&) = delete;

    private:
        void* context_ = nullptr;
        BUG_CHECK_HANDLER before_;
    };

private:
    void install() { handler_ = KeSetBugCheckHandler(&findings::receive, this, &context_); }

    static void receive(const BUG_CHECK_REPORT* report, void* context) {
        static_cast<findings*>(context)->add(*report);
        if (report->Rule == nullptr)
            throw stopped(report->Text != nullptr ? report->Text : "bug check");
    }

    void add(const BUG_CHECK_REPORT& report) {
        reported_finding one{report.Code, {}, {}, {}, {}, {}, {}};
        one.parameters.assign(report.Parameters, report.Parameters + 4);
        if (report.Rule != nullptr) one.rule = report.Rule;
        if (report.Text != nullptr) one.text = report.Text;
        if (report.History != nullptr) one.history = report.History;
        for (ULONG i = 0; i < report.StackCount; ++i)
            if (report.Stacks[i].FrameCount != 0) one.stacks.emplace_back(report.Stacks[i].Label);
        one.report.resize(KeFormatBugCheck(&report, nullptr, 0));
        KeFormatBugCheck(&report, one.report.data(), one.report.size() + 1);
        const std::lock_guard guard(lock_);
        all_.push_back(std::move(one));
    }

    checks_scope checks_;
    mutable dispatch::detail::raw_spin_lock lock_;
    std::vector<reported_finding> all_; // guarded by lock_
    BUG_CHECK_HANDLER handler_ = nullptr;
    void* context_ = nullptr;
};

/// The rule that a report names; "" when it names none.
inline std::string rule_in(const std::string& report) {
    constexpr std::string_view label = "\nrule: ";
    const std::size_t at = report.find(label);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + label.size();
    return report.substr(begin, report.find('\n', begin) - begin);
}

/// Exactly one report of the verifier was made, with this rule, code and first parameter. Bug
/// checks of the core that follow it do not count.
inline ::testing::AssertionResult only_reported(const findings& seen, const std::string& rule,
                                                ULONG code, ULONG_PTR id) {
    std::vector<reported_finding> all = seen.all();
    std::erase_if(all, [](const reported_finding& each) { return each.rule.empty(); });
    if (all.size() != 1)
        return ::testing::AssertionFailure() << all.size() << " findings instead of one\n"
                                             << seen.text();
    if (all[0].rule != rule || all[0].code != code || all[0].parameters[0] != id)
        return ::testing::AssertionFailure() << "another finding than expected\n" << seen.text();
    return ::testing::AssertionSuccess();
}

/// Nothing was reported.
inline ::testing::AssertionResult nothing_reported(const findings& seen) {
    if (seen.none()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << seen.text();
}

} // namespace irpverbs::testing
