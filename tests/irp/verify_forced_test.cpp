// Forced pending: every call site once inline and once pended.
#include "verified.hpp"

#include <support/explore_gtest.hpp>

#include <optional>
#include <set>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;
using irpverbs::irp::force_pending_sweep;
using irpverbs::irp::verifier_scope;
namespace dispatch = irpverbs::dispatch;

/// Sends one request through a filter in one schedule; returns the status of the originator's
/// IoCallDriver. `seen` collects the reports; without it a report ends the run.
NTSTATUS ask_once(NTSTATUS (*filter_return)(NTSTATUS), const findings* seen = nullptr) {
    dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    std::optional<findings::on_this_machine> collected;
    if (seen != nullptr) collected.emplace(*seen);
    NTSTATUS return_status = STATUS_SUCCESS;
    {
        lambda_driver bottom(succeed_at_once);
        lambda_driver filter(bottom, [&](DEVICE_OBJECT*, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            return filter_return(IoCallDriver(bottom.device(), irp));
        });
        request asked(2);
        sim.spawn("ask", [&] { return_status = asked.send(filter); });
        sim.run();
        EXPECT_EQ(asked.completions(), 1);
        EXPECT_EQ(asked.status(), STATUS_SUCCESS);
    }
    return return_status;
}

// Both call sites return inline in the first run; each is then pended in a run of its own.
TEST(ForcePending, Sweep_PendsEachCallSite) {
    const verifier_scope verified("default");
    std::multiset<NTSTATUS> statuses;
    const auto summary = force_pending_sweep(
        [&] { statuses.insert(ask_once([](NTSTATUS below) { return below; })); });
    EXPECT_EQ(summary.sites, 2u);
    EXPECT_EQ(summary.runs, 3u);
    EXPECT_GE(statuses.count(STATUS_SUCCESS), 1u);
    EXPECT_GE(statuses.count(STATUS_PENDING), 1u);
}

TEST(ForcePending, SweepThatEnds_KeepsLaterConfiguration) {
    const verifier_scope verified("default,log");
    const std::uint32_t logging = dispatch::detail::enabled_checks.load();
    EXPECT_EQ(VerifierConfigure("default"), STATUS_SUCCESS);
    force_pending_sweep([] { EXPECT_EQ(VerifierConfigure("default,log"), STATUS_SUCCESS); });
    EXPECT_EQ(dispatch::detail::enabled_checks.load(), logging);
}

// A filter that assumes success works only as long as the driver below completes inline.
TEST(ForcePending, FilterAssumesInlineCompletion_IsReported) {
    const verifier_scope verified("default");
    const auto wrong = [](NTSTATUS) -> NTSTATUS { return STATUS_SUCCESS; };
    EXPECT_EQ(ask_once(wrong), STATUS_SUCCESS);
    const findings seen(dispatch::detail::enabled_checks.load());
    force_pending_sweep([&] { ask_once(wrong, &seen); });
    ASSERT_FALSE(seen.none());
    EXPECT_EQ(seen.all()[0].rule, "LowerDriverReturn") << seen.text();
}

// The completion moves to the next processor, whose number exceeds a CCHAR.
TEST(ForcePending, OnProcessor130_TheNextOneCompletes) {
    const verifier_scope verified("default,force_pending,force_pending_percent=100");
    const findings seen(dispatch::detail::enabled_checks.load());
    dispatch::random_choices chance(1);
    sim_machine::options many;
    many.processors = 200;
    sim_machine sim(chance, many);
    const dispatch::machine::scope here(sim);
    lambda_driver driver(succeed_at_once);
    request asked;
    struct call {
        request& asked;
        lambda_driver& driver;
        ULONG number = 0;
        NTSTATUS status = STATUS_SUCCESS;
    } one{asked, driver};
    KDPC dpc;
    KeInitializeDpc(
        &dpc,
        [](KDPC*, void* context, void*, void*) {
            auto& mine = *static_cast<call*>(context);
            mine.number = KeGetCurrentProcessorNumber();
            mine.status = mine.asked.send(mine.driver);
        },
        &one);
    PROCESSOR_NUMBER at{0, 130, 0};
    EXPECT_EQ(KeSetTargetProcessorDpcEx(&dpc, &at), STATUS_SUCCESS);
    sim.spawn("start", [&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); });
    EXPECT_TRUE(sim.run()) << sim.last().report;
    EXPECT_EQ(one.number, 130u);
    EXPECT_EQ(one.status, STATUS_PENDING);
    EXPECT_EQ(asked.completions(), 1);
    EXPECT_TRUE(seen.none()) << seen.text();
}

// Random choice in an exploration: a deferred completion is delivered once under every schedule.
TEST(ForcePending, RandomForcePending_CompletesOnceInEverySchedule) {
    const verifier_scope verified("default,force_pending,force_pending_percent=50");
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 100;
    expect_explored(options, [](sim_machine& sim) {
        lambda_driver bottom(succeed_at_once);
        lambda_driver middle(bottom, [&](DEVICE_OBJECT*, IRP* irp) {
            IoCopyCurrentIrpStackLocationToNext(irp);
            return IoCallDriver(bottom.device(), irp);
        });
        request first(2);
        request second(2);
        sim.spawn("first", [&] { first.send(middle); });
        sim.spawn("second", [&] { second.send(middle); });
        sim.run();
        EXPECT_EQ(first.completions(), 1);
        EXPECT_EQ(second.completions(), 1);
    });
    VERIFIER_COUNTERS counted;
    VerifierQueryCounters(&counted);
    EXPECT_EQ(counted.ForcedPending, 0u); // counters of this thread's machine, not of earlier ones
}

// On real threads the completion comes from another processor, and the sender waits for it.
TEST(ForcePending, RealThreads_EachCallPendsAndCompletes) {
    const verifier_scope verified("default,force_pending,force_pending_percent=100");
    const findings seen(dispatch::detail::enabled_checks.load());
    {
        dispatch::asio_machine machine(dispatch::asio_machine::options{.processors = 2});
        const dispatch::machine::scope here(machine);
        lambda_driver driver(succeed_at_once);
        for (int i = 0; i < 50; ++i) {
            KEVENT done;
            KeInitializeEvent(&done, NotificationEvent, FALSE);
            IRP* irp = IoAllocateIrp(1, FALSE);
            IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
            IoSetCompletionRoutine(
                irp,
                [](DEVICE_OBJECT*, IRP*, void* event) -> NTSTATUS {
                    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
                    return STATUS_MORE_PROCESSING_REQUIRED;
                },
                &done, TRUE, TRUE, TRUE);
            EXPECT_EQ(IoCallDriver(driver.device(), irp), STATUS_PENDING);
            KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
            EXPECT_TRUE(irp->PendingReturned);
            IoFreeIrp(irp);
        }
        VERIFIER_COUNTERS counted;
        VerifierQueryCounters(&counted);
        EXPECT_EQ(counted.ForcedPending, 50u);
        EXPECT_EQ(counted.IrpsOutstanding, 0u);
    }
    EXPECT_TRUE(seen.none()) << seen.text();
}

} // namespace
