#include <irp/testing/explore.hpp>
#include <irp/verifier.h>

#include <dispatch/sim_machine.hpp>
#include <dispatch/support/processor.hpp>
#include <dispatch/testing/schedule.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>

namespace irpverbs::irp {

campaign_verifier::campaign_verifier(const std::string& options) {
    const char* named = std::getenv("IRPVERBS_VERIFIER");
    if (!NT_SUCCESS(VerifierConfigure(named != nullptr ? named : options.c_str())))
        throw std::invalid_argument((named != nullptr ? "IRPVERBS_VERIFIER: " : "") +
                                    std::string(VerifierMessage()));
}

campaign_verifier::~campaign_verifier() { VerifierConfigure(""); }

namespace {

// The failure of the run that this thread makes.
thread_local std::optional<std::string> failure_of_run;

constexpr ULONG longest_campaign = 1'000'000; // seconds

dispatch::explore_options options_of(const IRP_EXPLORE_OPTIONS& chosen) {
    dispatch::explore_options options;
    options.random_runs = chosen.RandomRuns;
    options.pct_runs = chosen.PctRuns;
    options.exhaustive_runs = chosen.ExhaustiveRuns;
    if ((chosen.RandomRuns | chosen.PctRuns | chosen.ExhaustiveRuns) == 0)
        options.budget_ms = std::min(chosen.Seconds, longest_campaign) * 1000;
    options.first_seed = chosen.FirstSeed;
    options.own_process = chosen.OwnProcess != FALSE;
    options.machine.faults = chosen.Faults != FALSE;
    if (chosen.RunCommand != nullptr) options.run_command = chosen.RunCommand;
    return options;
}

dispatch::sim_machine& machine_of_run() {
    const dispatch::detail::processor* self = dispatch::detail::current;
    if (self == nullptr || !self->owner->simulated())
        throw std::logic_error("IrpExploreSpawn and IrpExploreRun are called in a run of "
                               "IrpExplore only");
    return static_cast<dispatch::sim_machine&>(*self->owner);
}

void write_report(const std::string& text, char* report, std::size_t size) {
    if (report != nullptr && size != 0) std::snprintf(report, size, "%s", text.c_str());
}

} // namespace
} // namespace irpverbs::irp

using namespace irpverbs;
using namespace irpverbs::irp;

extern "C" {

void IrpExploreInitialize(PIRP_EXPLORE_OPTIONS Options) noexcept {
    *Options = {};
    Options->Size = sizeof *Options;
    Options->Seconds = 5;
}

NTSTATUS IrpExplore(const IRP_EXPLORE_OPTIONS* Options, PIRP_EXPLORE_ROUTINE Body, PVOID Context,
                    PIRP_EXPLORE_SUMMARY Summary, CHAR* Report, SIZE_T Size) try {
    const IRP_EXPLORE_OPTIONS defaults = explore_initialize();
    const IRP_EXPLORE_OPTIONS& chosen = Options != nullptr ? *Options : defaults;
    if (chosen.Size != sizeof chosen || Body == nullptr) {
        write_report("IrpExplore: Size is not that of the options, or there is no Body", Report,
                     Size);
        return STATUS_INVALID_PARAMETER;
    }
    const campaign_verifier verified(chosen.Verifier != nullptr ? chosen.Verifier : "default");
    const dispatch::explore_summary found =
        dispatch::explore(options_of(chosen), [&](dispatch::sim_machine&) {
            failure_of_run.reset();
            Body(Context);
            return failure_of_run;
        });
    if (Summary != nullptr)
        *Summary = {found.runs(),
                    found.random.failures + found.pct.failures + found.exhaustive.failures,
                    static_cast<BOOLEAN>(found.exhausted),
                    found.preemptions.value_or(IRP_EXPLORE_ANY_NUMBER)};
    write_report(found.text(), Report, Size);
    return found.passed() ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
} catch (const std::invalid_argument& wrong) { // also dispatch::schedule_error
    write_report(wrong.what(), Report, Size);
    return STATUS_INVALID_PARAMETER;
}

void IrpExploreSpawn(const CHAR* Name, PIRP_EXPLORE_ROUTINE Routine, PVOID Context) {
    machine_of_run().spawn(Name, [=] { Routine(Context); });
}

void IrpExploreRun(void) { machine_of_run().run(); }

void IrpExploreFail(const CHAR* Text) {
    if (!failure_of_run) failure_of_run = Text;
}

} // extern "C"
