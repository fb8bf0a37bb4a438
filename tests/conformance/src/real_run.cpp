#include "real_run.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/spin.hpp>
#include <irp/verifier.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace irpverbs::conformance {

namespace {

struct stopped {};

std::string text_of(const BUG_CHECK_REPORT& report) {
    std::string text(KeFormatBugCheck(&report, nullptr, 0), '\0');
    KeFormatBugCheck(&report, text.data(), text.size() + 1);
    return text;
}

/// Collects the reports of its lifetime.
class watch {
public:
    watch() {
        VerifierSetCallback(note, this);
        before_ = KeSetBugCheckHandler(stop, this, &before_context_);
    }
    ~watch() {
        KeSetBugCheckHandler(before_, before_context_, nullptr);
        VerifierSetCallback(nullptr, nullptr);
    }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Runs the body; throws `stopped` if a bug check ends it.
    void over(const std::function<void()>& body) {
        body_ = &dispatch::detail::this_processor();
        body();
    }

    std::vector<std::string> findings() {
        const std::lock_guard guard(lock_);
        return findings_;
    }

private:
    static BOOLEAN note(const BUG_CHECK_REPORT* report, void* context) {
        auto& self = *static_cast<watch*>(context);
        std::string text = text_of(*report);
        const std::lock_guard guard(self.lock_);
        self.findings_.push_back(std::move(text));
        return TRUE;
    }
    static void stop(const BUG_CHECK_REPORT* report, void* context) {
        auto& self = *static_cast<watch*>(context);
        note(report, context);
        // A second exception must not be thrown while the first unwinds the body.
        const bool body = &dispatch::detail::this_processor() == self.body_;
        if (body && std::uncaught_exceptions() == 0) throw stopped();
        std::fputs(text_of(*report).c_str(), stderr);
        std::_Exit(1);
    }

    const dispatch::detail::processor* body_ = nullptr;
    dispatch::detail::raw_spin_lock lock_;
    std::vector<std::string> findings_; // guarded by lock_
    BUG_CHECK_HANDLER before_ = nullptr;
    void* before_context_ = nullptr;
};

} // namespace

void real_run(const std::function<void()>& body) {
    watch watching;
    auto machine =
        std::make_unique<dispatch::asio_machine>(dispatch::asio_machine::options{.processors = 2});
    try {
        const dispatch::machine::scope inside(*machine);
        watching.over(body);
    } catch (const stopped&) {
        static_cast<void>(machine.release()); // leaked: its threads may wait for ever
    }
    machine.reset();
    for (const std::string& each : watching.findings())
        ADD_FAILURE() << each;
}

} // namespace irpverbs::conformance
