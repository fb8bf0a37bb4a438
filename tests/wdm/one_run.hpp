// One simulated run under the verifier, and its report.
#pragma once

#include <functional>
#include <gtest/gtest.h> // before Windows' headers, as all of the C++ library
#include <irp/testing/explore.hpp>
#include <string>
#include <support/abandoned_runs.hpp>

#include <ntifs.h>

namespace one_run {

/// The report of one run of the body; "" if nothing is reported.
inline std::string report_of(const std::function<void()>& body) {
    const irpverbs::testing::abandoned_runs memory;
    irpverbs::dispatch::explore_options once;
    once.random_runs = 1;
    once.pct_runs = 0;
    once.shrink_budget = 0;
    const auto found = irpverbs::irp::explore(
        once, [&](irpverbs::dispatch::sim_machine& sim) -> std::optional<std::string> {
            sim.spawn("caller", body);
            sim.run();
            return std::nullopt;
        });
    return found.failure ? found.failure->what : "";
}

/// Whether the report names the rule, and holds the text.
inline bool is(const std::string& report, const std::string& rule, const std::string& text) {
    return report.find("rule: " + rule + '\n') != report.npos && report.find(text) != report.npos;
}

/// Sends a request that the device's driver completes at once, and frees both.
inline void send_once(PDEVICE_OBJECT device, PIRP irp) {
    IoSetCompletionRoutine(
        irp,
        [](PDEVICE_OBJECT, PIRP, PVOID) -> NTSTATUS { return STATUS_MORE_PROCESSING_REQUIRED; },
        nullptr, TRUE, TRUE, TRUE);
    IoCallDriver(device, irp);
    IoFreeIrp(irp);
    IoDeleteDevice(device);
}

inline void at(KIRQL level, const std::function<void()>& call) {
    KIRQL before;
    KeRaiseIrql(level, &before);
    call();
    KeLowerIrql(before);
}

} // namespace one_run
