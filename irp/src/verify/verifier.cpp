// The verifier's public functions.
#include "ledger.hpp"
#include "options.hpp"
#include "quiescence.hpp"

#include <dispatch/detail/faults.hpp>
#include <dispatch/detail/lifecycle.hpp>
#include <dispatch/fault_sweep.hpp>
#include <irp/verifier.h>

#include <cstdio>

namespace irpverbs::irp::verify {
namespace {

thread_local std::string message;

struct callback {
    core::raw_spin lock;
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

void append_trace(std::string& text, const ledger& book) {
    if (book.trace_dropped != 0)
        text += std::to_string(book.trace_dropped) + " earlier events were dropped (trace_limit)\n";
    append(text, book.trace);
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
    ledger& book = ledger::of(self);
    *Counters = {};
    Counters->Findings = core::findings_reported();
    Counters->FaultsInjected = core::faults_injected(*self.owner);
    const std::lock_guard guard(book.lock);
    Counters->IrpsTracked = book.counted.tracked;
    for (const auto& [irp, each] : book.records)
        if (each->stage == stage::sent) ++Counters->IrpsOutstanding;
    Counters->Calls = book.counted.calls;
    Counters->Completions = book.counted.completions;
    Counters->Cancels = book.counted.cancels;
    Counters->ForcedPending = book.counted.forced;
    Counters->Warnings = book.counted.warnings;
}

ULONG VerifierCheckQuiescence(void) { return check_quiescence(ledger::of(core::this_processor())); }

SIZE_T VerifierDumpLog(PDEVICE_OBJECT DeviceObject, CHAR* Buffer, SIZE_T Size) {
    ledger& book = ledger::of(core::this_processor());
    std::string text;
    {
        const std::lock_guard guard(book.lock);
        if (DeviceObject != nullptr)
            append(text, book.device(DeviceObject).log);
        else if (watching(irpverbs::irp::verify::watch::trace))
            append_trace(text, book);
        else
            for (const auto& [device, each] : book.devices)
                append(text, each.log);
    }
    if (Size != 0) std::snprintf(Buffer, Size, "%s", text.c_str());
    return text.size();
}

void VerifierRequireCancelLock(PDEVICE_OBJECT DeviceObject, BOOLEAN Required) {
    ledger& book = ledger::of(core::this_processor());
    const std::lock_guard guard(book.lock);
    book.device(DeviceObject).cancel_lock_required = Required != FALSE;
}

void VerifierSweepLowResources(VERIFIER_SWEEP_ROUTINE Routine, PVOID Context, BOOLEAN Pairs,
                               VERIFIER_SWEEP* Summary) {
    using order = irpverbs::dispatch::sweep::order;
    const auto summary = irpverbs::dispatch::fault_sweep([&] { Routine(Context); },
                                                         Pairs ? order::pairs : order::singles);
    *Summary = {summary.runs, summary.stacks, summary.pairs};
}

} // extern "C"
