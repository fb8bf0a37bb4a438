// The verifier's public functions.
#include "irp_tracker.hpp"
#include "options.hpp"
#include "quiescence.hpp"

#include <dispatch/support/faults.hpp>
#include <dispatch/support/machine_hooks.hpp>
#include <dispatch/testing/fault_sweep.hpp>
#include <irp/verifier.h>

#include <cstdio>

namespace irpverbs::irp::verify {
namespace {

thread_local std::string message;

struct callback {
    core::raw_spin_lock lock;
    VERIFIER_CALLBACK function = nullptr; // guarded by lock
    void* context = nullptr;              // likewise
};
constinit callback listener;

bool filter(const BUG_CHECK_REPORT& report) {
    VERIFIER_CALLBACK function = nullptr;
    void* context = nullptr;
    {
        const std::lock_guard guard(listener.lock);
        function = listener.function;
        context = listener.context;
    }
    return function != nullptr && function(&report, context);
}

void append(std::string& text, const std::deque<event>& events) {
    for (const event& each : events)
        text += text_of(each);
}

void append_trace(std::string& text, const irp_tracker& tracker) {
    if (tracker.trace_dropped != 0)
        text +=
            std::to_string(tracker.trace_dropped) + " earlier events were dropped (trace_limit)\n";
    append(text, tracker.trace);
}

} // namespace
} // namespace irpverbs::irp::verify

using namespace irpverbs::irp::verify;

extern "C" {

NTSTATUS VerifierConfigure(const CHAR* Options) {
    message = Options != nullptr ? configure(Options) : "the options are NULL";
    return message.empty() ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

const CHAR* VerifierMessage(void) noexcept { return message.c_str(); }

VERIFIER_CALLBACK VerifierSetCallback(VERIFIER_CALLBACK Callback, PVOID Context) noexcept {
    const std::lock_guard guard(listener.lock);
    const VERIFIER_CALLBACK before = listener.function;
    listener.function = Callback;
    listener.context = Context;
    core::set_finding_filter(Callback != nullptr ? filter : nullptr);
    return before;
}

void VerifierQueryCounters(VERIFIER_COUNTERS* Counters) {
    core::processor& self = core::this_processor();
    irp_tracker& tracker = irp_tracker::of(self);
    *Counters = {};
    Counters->Findings = core::findings_reported();
    Counters->FaultsInjected = core::faults_injected(*self.owner);
    const std::lock_guard guard(tracker.lock);
    Counters->IrpsTracked = tracker.counters.tracked;
    for (const auto& [irp, each] : tracker.records)
        if (each->stage == stage::sent) ++Counters->IrpsOutstanding;
    Counters->Calls = tracker.counters.calls;
    Counters->Completions = tracker.counters.completions;
    Counters->Cancels = tracker.counters.cancels;
    Counters->ForcedPending = tracker.counters.forced;
    Counters->Warnings = tracker.counters.warnings;
}

ULONG VerifierCheckQuiescence(void) {
    return check_quiescence(irp_tracker::of(core::this_processor()));
}

SIZE_T VerifierDumpLog(PDEVICE_OBJECT DeviceObject, CHAR* Buffer, SIZE_T Size) {
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    std::string text;
    {
        const std::lock_guard guard(tracker.lock);
        if (DeviceObject != nullptr)
            append(text, tracker.device(DeviceObject).log);
        else if (enabled(irpverbs::irp::verify::check::trace))
            append_trace(text, tracker);
        else
            for (const auto& [device, each] : tracker.devices)
                append(text, each.log);
    }
    if (Size != 0) std::snprintf(Buffer, Size, "%s", text.c_str());
    return text.size();
}

void VerifierRequireCancelLock(PDEVICE_OBJECT DeviceObject, BOOLEAN Required) {
    irp_tracker& tracker = irp_tracker::of(core::this_processor());
    const std::lock_guard guard(tracker.lock);
    tracker.device(DeviceObject).cancel_lock_required = Required != FALSE;
}

void VerifierSweepLowResources(VERIFIER_SWEEP_ROUTINE Routine, PVOID Context, BOOLEAN Pairs,
                               VERIFIER_SWEEP* Summary) {
    using order = irpverbs::dispatch::sweep::order;
    const auto summary = irpverbs::dispatch::fault_sweep([&] { Routine(Context); },
                                                         Pairs ? order::pairs : order::singles);
    *Summary = {summary.runs, summary.stacks, summary.pairs};
}

} // extern "C"
