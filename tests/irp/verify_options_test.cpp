// The verifier's switches, counters, callback and log, and its silence about correct code.
#include "three_deep.hpp"

#include <support/exhaustive_gtest.hpp>

#include <gmock/gmock.h>

#include <algorithm>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;
using irpverbs::irp::verifier_scope;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace dispatch = irpverbs::dispatch;

TEST(VerifierOptions, UnknownOption_IsRejectedAndChangesNothing) {
    const verifier_scope verified("io,-io,cancel");
    const std::uint32_t before = dispatch::detail::enabled_checks.load();
    for (const char* wrong : {"spells", "-spells", "pended_completed=maybe", "cancel_limit_ms=x",
                              "force_pending_percent=101", "colour=red", "io,spells",
                              "dpc_limit_ms=long", "raised_limit_ms=-1", "raised_limit_ms=86400001",
                              "dpc_limit_ms", "lock_initialisation=1", "release_order=reverse"}) {
        EXPECT_EQ(VerifierConfigure(wrong), STATUS_INVALID_PARAMETER) << wrong;
        EXPECT_STRNE(VerifierMessage(), "") << wrong;
        EXPECT_EQ(dispatch::detail::enabled_checks.load(), before) << wrong;
    }
    EXPECT_EQ(VerifierConfigure("spells"), STATUS_INVALID_PARAMETER);
    EXPECT_THAT(VerifierMessage(), HasSubstr("'spells'"));
    EXPECT_THAT(VerifierMessage(), HasSubstr("remove_locks"));
    EXPECT_EQ(VerifierConfigure(nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_THROW(verifier_scope("spells"), std::invalid_argument);
}

TEST(VerifierOptions, EmptyOptions_TurnVerifierOff) {
    EXPECT_EQ(VerifierConfigure("default, trace ,-lifetime"), STATUS_SUCCESS);
    EXPECT_STREQ(VerifierMessage(), "");
    EXPECT_TRUE(dispatch::detail::verifying());
    EXPECT_EQ(VerifierConfigure(""), STATUS_SUCCESS);
    EXPECT_FALSE(dispatch::detail::verifying());
    EXPECT_EQ(dispatch::detail::enabled_checks.load(), 0u);
}

TEST(VerifierOptionsDeathTest, EnvironmentVariable_ConfiguresOrExitsWith2) {
    EXPECT_EXIT(
        {
            setenv("IRPVERBS_VERIFIER", "spells", 1);
            KeGetCurrentIrql();
        },
        ::testing::ExitedWithCode(2), "IRPVERBS_VERIFIER: unknown word 'spells'; there are:");
    EXPECT_EXIT(
        {
            setenv("IRPVERBS_VERIFIER", "io,cancel", 1);
            KeGetCurrentIrql();
            std::_Exit(dispatch::detail::verifying() ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

// The program continues after a finding that the callback handles; the bug check handler is not
// called.
TEST(Verifier, FindingHandledByCallback_ProgramContinues) {
    static std::string reported;
    const verifier_scope verified("default");
    const findings unheard(dispatch::detail::enabled_checks.load());
    VerifierSetCallback(
        [](const BUG_CHECK_REPORT* report, PVOID) -> BOOLEAN {
            reported = report->Rule;
            return TRUE;
        },
        nullptr);
    dispatch::random_choices chance(1);
    {
        sim_machine sim(chance);
        const dispatch::machine::scope here(sim);
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            complete(irp, STATUS_SUCCESS);
            return STATUS_UNSUCCESSFUL;
        });
        request(1).send(driver);
    }
    VerifierSetCallback(nullptr, nullptr);
    EXPECT_EQ(reported, "CompleteRequestStatusCheck");
    EXPECT_TRUE(unheard.none());
}

TEST(Verifier, CountersAndLog_ShowEachIrp) {
    const verifier_scope verified("default,log,trace");
    const findings seen(dispatch::detail::enabled_checks.load());
    dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    IRP* pended = nullptr;
    lambda_driver driver(pend_in(pended));
    request asked;
    asked.send(driver);
    VERIFIER_COUNTERS counted;
    VerifierQueryCounters(&counted);
    EXPECT_EQ(counted.IrpsOutstanding, 1u);
    EXPECT_EQ(counted.Calls, 1u);
    complete(pended, STATUS_SUCCESS);
    VerifierQueryCounters(&counted);
    EXPECT_EQ(counted.IrpsOutstanding, 0u);
    EXPECT_EQ(counted.Completions, 1u);
    for (DEVICE_OBJECT* which : {driver.device(), static_cast<DEVICE_OBJECT*>(nullptr)}) {
        std::string log(VerifierDumpLog(which, nullptr, 0), '\0');
        VerifierDumpLog(which, log.data(), log.size() + 1);
        EXPECT_THAT(log, HasSubstr("irp#1  main at IRQL 0: sent, location 1, device#1\n"));
        EXPECT_THAT(log, HasSubstr("completed, location 1, device#1, STATUS_SUCCESS\n"));
    }
    // A device's ring holds 20 events.
    for (int i = 0; i < 30; ++i) {
        request again;
        again.send(driver);
        complete(pended, STATUS_SUCCESS);
    }
    std::string ring(VerifierDumpLog(driver.device(), nullptr, 0), '\0');
    VerifierDumpLog(driver.device(), ring.data(), ring.size() + 1);
    EXPECT_EQ(std::count(ring.begin(), ring.end(), '\n'), 20);
    EXPECT_TRUE(seen.none()) << seen.text();
}

// WDK pages and SDV differ on the level at which devices may be created.
TEST(Verifier, StrictSdvIrql_ReportsLevelsThatWdkAllows) {
    const auto create = [](sim_machine&) {
        KIRQL old = PASSIVE_LEVEL;
        KeRaiseIrql(APC_LEVEL, &old);
        {
            DRIVER_OBJECT driver{};
            DEVICE_OBJECT* device = nullptr;
            IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
            IoDeleteDevice(device);
        }
        KeLowerIrql(old);
    };
    EXPECT_TRUE(nothing(found_with("default", create)));
    EXPECT_TRUE(is(found_with("default,strict_sdv_irql", create), "IrqlIoPassive1",
                   DRIVER_VERIFIER_DETECTED_VIOLATION, 0x0002000A));
    const auto count = [](sim_machine&) {
        const KIRQL old = KeRaiseIrqlToDpcLevel();
        KeQueryActiveProcessors();
        KeLowerIrql(old);
    };
    EXPECT_TRUE(nothing(found_with("default", count)));
    EXPECT_TRUE(is(found_with("default,strict_sdv_irql", count), "IrqlKeApcLte1",
                   DRIVER_VERIFIER_DETECTED_VIOLATION, 0x0002000F));
}

void use_zeroed_locks(sim_machine&) {
    static EX_SPIN_LOCK shared = 0; // zeroing is its only initialisation
    ExReleaseSpinLockShared(&shared, ExAcquireSpinLockShared(&shared));
    KIRQL level = PASSIVE_LEVEL;
    IoAcquireCancelSpinLock(&level); // the system's own
    IoReleaseCancelSpinLock(level);
    static KSPIN_LOCK zeroed = 0;
    KeReleaseSpinLock(&zeroed, KeAcquireSpinLockRaiseToDpc(&zeroed));
}

TEST(VerifierOptions, LockInitialisationOption_ReportsUninitialisedLock) {
    EXPECT_TRUE(nothing(found_with("default", use_zeroed_locks)));
    const std::vector<reported_finding> reported =
        found_with("default,lock_initialisation", use_zeroed_locks);
    EXPECT_TRUE(is(reported, "LockUninitialised", DRIVER_VERIFIER_DETECTED_VIOLATION, 0x1002));
    EXPECT_EQ(reported.size(), 1u) << text_of(reported);
}

TEST(VerifierOptions, ReleaseOrderOption_ReportsOutOfOrderRelease) {
    const auto hand_over_hand = [](sim_machine&) {
        KSPIN_LOCK first;
        KSPIN_LOCK second;
        KeInitializeSpinLock(&first);
        KeInitializeSpinLock(&second);
        const KIRQL old = KeAcquireSpinLockRaiseToDpc(&first);
        KeAcquireSpinLockAtDpcLevel(&second);
        KeReleaseSpinLockFromDpcLevel(&first);
        KeReleaseSpinLock(&second, old);
    };
    EXPECT_TRUE(nothing(found_with("default", hand_over_hand)));
    EXPECT_TRUE(is(found_with("default,release_order", hand_over_hand), "LockReleaseOrder",
                   DRIVER_VERIFIER_DETECTED_VIOLATION, 0x1003));
}

// A DPC of 5 ms that holds a spin lock.
void take_five_milliseconds(sim_machine& sim) {
    KSPIN_LOCK lock;
    KDPC dpc;
    KeInitializeSpinLock(&lock);
    KeInitializeDpc(
        &dpc,
        [](KDPC*, void* held, void*, void*) {
            KeAcquireSpinLockAtDpcLevel(static_cast<KSPIN_LOCK*>(held));
            KeStallExecutionProcessor(5'000);
            KeReleaseSpinLockFromDpcLevel(static_cast<KSPIN_LOCK*>(held));
        },
        &lock);
    sim.spawn("driver", [&] { KeInsertQueueDpc(&dpc, nullptr, nullptr); });
    sim.run();
}

TEST(VerifierOptions, WatchdogLimitExceeded_IsReported) {
    EXPECT_TRUE(
        nothing(found_with("default,dpc_limit_ms=5,raised_limit_ms=5", take_five_milliseconds)));
    EXPECT_TRUE(is(found_with("default,dpc_limit_ms=4", take_five_milliseconds), "DpcTooLong",
                   DPC_WATCHDOG_VIOLATION, 0));
    EXPECT_TRUE(is(found_with("default,raised_limit_ms=4", take_five_milliseconds), "RaisedTooLong",
                   DPC_WATCHDOG_VIOLATION, 1));
    EXPECT_TRUE(nothing(found_with("default", take_five_milliseconds)));
}

std::string dumped_trace() {
    std::string text(VerifierDumpLog(nullptr, nullptr, 0), '\0');
    VerifierDumpLog(nullptr, text.data(), text.size() + 1);
    return text;
}

// The trace that remains of that many requests, with three events each after the first line.
std::string trace_of(int requests, const std::string& options) {
    const verifier_scope verified(options);
    const findings seen(dispatch::detail::enabled_checks.load());
    dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    const lambda_driver driver(succeed_at_once);
    for (int i = 0; i < requests; ++i)
        request(1).send(driver);
    return dumped_trace();
}

// The trace has all events, not only the last 20 of each device.
TEST(VerifierTrace, MoreEventsThanDeviceRing_AllAreKept) {
    const std::string text = trace_of(1000, "io,trace");
    EXPECT_THAT(text, HasSubstr("irp#1  main at IRQL 0: allocated\n"));
    EXPECT_THAT(text, HasSubstr("irp#1000  main at IRQL 0: freed\n"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5000);
    EXPECT_THAT(text, Not(HasSubstr("dropped")));
}

TEST(VerifierTrace, TraceLimitReached_KeepsLastEventsAndCountsDropped) {
    const std::string text = trace_of(1000, "io,trace,trace_limit=50");
    EXPECT_THAT(text, StartsWith("4950 earlier events were dropped (trace_limit)\n"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 51);
    EXPECT_THAT(text, Not(HasSubstr("irp#990  ")));
    EXPECT_THAT(text, HasSubstr("irp#991  main at IRQL 0: allocated\n"));
    EXPECT_THAT(text, HasSubstr("irp#1000  main at IRQL 0: freed\n"));
}

TEST(VerifierTrace, TraceLimitAboveDefault_AllAreKept) {
    const std::string text = trace_of(21'000, "io,trace,trace_limit=200000");
    EXPECT_THAT(text, HasSubstr("irp#1  main at IRQL 0: allocated\n"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 105'000);
}

// Two requests, one of them cancelled, and one serving actor: no schedule has a finding.
TEST(Verifier, ThreeDriverStackInEverySchedule_NothingIsReported) {
    const verifier_scope verified("default");
    explore_options options;
    options.random_runs = 500;
    options.pct_runs = 500;
    options.exhaustive_runs = 100'000;
    options.preemption_bound = 2;
    const auto summary = expect_exhausted(options, [](sim_machine& sim) {
        three_deep stack;
        request first(3);
        request second(3);
        sim.spawn("first", [&] { first.send(stack.top); });
        sim.spawn("second", [&] { second.send(stack.top); });
        sim.spawn("cancel", [&] { IoCancelIrp(first.irp()); });
        sim.spawn("serve", [&] { stack.serve(); });
        sim.run();
        stack.serve();
        EXPECT_EQ(first.completions(), 1);
        EXPECT_EQ(second.completions(), 1);
    });
    RecordProperty("campaign", summary.text());
}

// Correct drivers on real threads have no finding either.
TEST(Verifier, ThreeDriverStackOnRealThreads_NothingIsReported) {
    const verifier_scope verified("default");
    const findings seen(dispatch::detail::enabled_checks.load());
    {
        dispatch::asio_machine machine(dispatch::asio_machine::options{.processors = 2});
        const dispatch::machine::scope here(machine);
        three_deep stack;
        for (int i = 0; i < 200; ++i) {
            request first(3);
            request second(3);
            first.send(stack.top);
            second.send(stack.top);
            IoCancelIrp(first.irp());
            stack.serve();
            EXPECT_EQ(first.completions() + second.completions(), 2);
        }
    }
    EXPECT_TRUE(seen.none()) << seen.text();
}

// The report of a hung run lists the outstanding IRPs and their drivers.
TEST(Verifier, HungRun_ReportListsOutstandingIrps) {
    const verifier_scope verified("default");
    dispatch::random_choices chance(1);
    std::string report;
    {
        sim_machine sim(chance);
        const dispatch::machine::scope here(sim);
        static IRP* pended = nullptr;
        static lambda_driver* driver = nullptr; // a run that does not finish unwinds nothing
        driver = new lambda_driver(pend_in(pended));
        sim.spawn("ask", [&] {
            static KEVENT never;
            KeInitializeEvent(&never, NotificationEvent, FALSE);
            static request* asked = new request;
            asked->send(*driver);
            KeWaitForSingleObject(&never, Executive, KernelMode, FALSE, nullptr);
        });
        report = sim.run().report;
    }
    EXPECT_THAT(report, HasSubstr("irp#1 is outstanding:"));
    EXPECT_THAT(report, HasSubstr("sent, location 1, device#1"));
}

} // namespace
