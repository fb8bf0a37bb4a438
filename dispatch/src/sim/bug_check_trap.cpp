#include "simulation.hpp"

#include <dispatch/bugcheck.h>

namespace irpverbs::dispatch::sim {

static std::string text_of(const BUG_CHECK_REPORT& report) {
    std::string text(KeFormatBugCheck(&report, nullptr, 0), '\0');
    KeFormatBugCheck(&report, text.data(), text.size() + 1);
    return text;
}

// The one that broke the rule goes no further, and nothing is unwound: it may stand in C code, in a
// function that is noexcept, or hold locks.
static void trap(const BUG_CHECK_REPORT* report, void* context) {
    scheduler& schedule = *static_cast<scheduler*>(context);
    const std::string who = schedule.running().name;
    std::string kind = std::to_string(report->Code);
    if (report->Rule != nullptr) kind += report->Rule;
    schedule.stop(sim_outcome::bug_check, "bug check by " + who + "\n" + text_of(*report), kind);
}

bug_check_trap::bug_check_trap(scheduler& schedule) {
    void* context = nullptr;
    const BUG_CHECK_HANDLER own = KeSetBugCheckHandler(&trap, &schedule, &context);
    installed_ = own == nullptr;
    if (!installed_) KeSetBugCheckHandler(own, context, &context);
}

bug_check_trap::~bug_check_trap() {
    void* context = nullptr;
    if (installed_) KeSetBugCheckHandler(nullptr, nullptr, &context);
}

} // namespace irpverbs::dispatch::sim
