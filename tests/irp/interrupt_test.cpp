// Interrupts: service routines at their level, under their lock, against the rest of a driver.
#include "verified.hpp"

#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/explore_gtest.hpp>
#include <support/one_run.hpp>

#include <dispatch/support/live_objects.hpp>
#include <irp/interrupt.h>
#include <irp/testing/interrupt.h>
#include <irp/testing/pnp.hpp>

#include <array>
#include <atomic>
#include <span>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr ULONG vector = 0x61;
constexpr KIRQL device_level = 6;

/// An interrupt with a routine of the test's.
class connected_interrupt {
public:
    explicit connected_interrupt(PKSERVICE_ROUTINE routine, void* context, bool shared = false,
                                 KINTERRUPT_MODE mode = LevelSensitive,
                                 KIRQL synchronize = device_level) {
        EXPECT_EQ(IoConnectInterrupt(&interrupt_, routine, context, nullptr, vector, device_level,
                                     synchronize, mode, shared, 1, FALSE),
                  STATUS_SUCCESS);
    }
    ~connected_interrupt() { disconnect(); }
    connected_interrupt(const connected_interrupt&) = delete;
    connected_interrupt& operator=(const connected_interrupt&) = delete;

    KINTERRUPT* get() const { return interrupt_; }
    void disconnect() {
        if (KINTERRUPT* const gone = std::exchange(interrupt_, nullptr))
            IoDisconnectInterrupt(gone);
    }

private:
    KINTERRUPT* interrupt_ = nullptr;
};

BOOLEAN claim(PKINTERRUPT, PVOID calls) {
    ++*static_cast<int*>(calls);
    return TRUE;
}
BOOLEAN decline(PKINTERRUPT, PVOID calls) {
    ++*static_cast<int*>(calls);
    return FALSE;
}

class Interrupts : public BothMachines {
protected:
    const irp::verifier_scope verified{"default"};
};

// irpverbs-drive checks so what it unloads.
bool is_connected_at_unload(const void* routine) {
    const std::array image{std::span(static_cast<const char*>(routine), 1)};
    const auto report = report_of([&] { dispatch::detail::check_unloaded_image(image); });
    return report && report->rule == "InterruptOutlivesDriver";
}

TEST_P(Interrupts, RoutineOfADriverThatIsUnloaded_IsReportedUntilItIsDisconnected) {
    using dispatch::detail::routine_address;
    int calls = 0;
    connected_interrupt interrupt(claim, &calls);
    EXPECT_FALSE(is_connected_at_unload(routine_address(decline)));
    EXPECT_TRUE(is_connected_at_unload(routine_address(claim)));
    interrupt.disconnect();
    EXPECT_FALSE(is_connected_at_unload(routine_address(claim)));
}

// A driver's usual parts: the routine requests a DPC, which does the work.
struct serviced {
    KDPC dpc{};
    std::vector<KIRQL> levels; // of the routine, then of the DPC

    serviced() { KeInitializeDpc(&dpc, finish, this); }
    static BOOLEAN service(PKINTERRUPT, PVOID context) {
        auto& self = *static_cast<serviced*>(context);
        self.levels.push_back(KeGetCurrentIrql());
        KeInsertQueueDpc(&self.dpc, nullptr, nullptr);
        return TRUE;
    }
    static void finish(PKDPC, PVOID context, PVOID, PVOID) {
        static_cast<serviced*>(context)->levels.push_back(KeGetCurrentIrql());
    }
};

TEST_P(Interrupts, RoutineRunsAtItsLevel_AndItsDpcBehindIt) {
    serviced device;
    const connected_interrupt interrupt(serviced::service, &device, false, Latched, 9);
    EXPECT_TRUE(IrpRaiseInterrupt(vector));
    EXPECT_EQ(device.levels, (std::vector<KIRQL>{9, DISPATCH_LEVEL}));
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    device.levels.clear();
    {
        const at_dispatch_level raised;
        EXPECT_TRUE(IrpRaiseInterrupt(vector));
        EXPECT_EQ(device.levels, (std::vector<KIRQL>{9}));
    }
    EXPECT_EQ(device.levels, (std::vector<KIRQL>{9, DISPATCH_LEVEL}));
}

TEST_P(Interrupts, VectorWithoutRoutine_IsNotServed) {
    int calls = 0;
    EXPECT_FALSE(IrpRaiseInterrupt(vector));
    connected_interrupt interrupt(claim, &calls);
    EXPECT_FALSE(IrpRaiseInterrupt(vector + 1));
    interrupt.disconnect();
    EXPECT_FALSE(IrpRaiseInterrupt(vector));
    EXPECT_EQ(calls, 0);
}

TEST_P(Interrupts, SharedLevelSensitiveVector_EndsWithTheRoutineThatClaimsIt) {
    int first = 0;
    int second = 0;
    int third = 0;
    const connected_interrupt declines(decline, &first, true);
    const connected_interrupt claims(claim, &second, true);
    const connected_interrupt behind(claim, &third, true);
    EXPECT_TRUE(IrpRaiseInterrupt(vector));
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
    EXPECT_EQ(third, 0);
}

TEST_P(Interrupts, SharedLatchedVector_CallsAllRoutines) {
    int first = 0;
    int second = 0;
    const connected_interrupt claims(claim, &first, true, Latched);
    const connected_interrupt declines(decline, &second, true, Latched);
    EXPECT_TRUE(IrpRaiseInterrupt(vector));
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
}

TEST_P(Interrupts, VectorOrLevelThatDoesNotFit_IsRefused) {
    int calls = 0;
    const connected_interrupt only(claim, &calls);
    KINTERRUPT* none = nullptr;
    const auto connect = [&](ULONG which, KIRQL level, KIRQL synchronize) {
        return IoConnectInterrupt(&none, claim, &calls, nullptr, which, level, synchronize, Latched,
                                  TRUE, 1, FALSE);
    };
    EXPECT_EQ(connect(vector, device_level, device_level), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(connect(vector + 1, DISPATCH_LEVEL, device_level), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(connect(vector + 1, device_level, device_level - 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(connect(vector + 1, device_level, HIGH_LEVEL + 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(none, nullptr);
}

TEST_P(Interrupts, LineOfADevice_IsConnectedByItsPhysicalDevice) {
    const irp::pnp_device device;
    int calls = 0;
    KINTERRUPT* interrupt = nullptr;
    IO_CONNECT_INTERRUPT_PARAMETERS wanted{};
    wanted.Version = CONNECT_LINE_BASED;
    wanted.LineBased.PhysicalDeviceObject = device.physical_device();
    wanted.LineBased.InterruptObject = &interrupt;
    wanted.LineBased.ServiceRoutine = claim;
    wanted.LineBased.ServiceContext = &calls;
    ASSERT_EQ(IoConnectInterruptEx(&wanted), STATUS_SUCCESS);
    EXPECT_TRUE(IrpRaiseInterrupt(device.interrupt_vector()));
    EXPECT_EQ(calls, 1);
    IO_DISCONNECT_INTERRUPT_PARAMETERS gone{};
    gone.Version = CONNECT_LINE_BASED;
    gone.ConnectionContext.InterruptObject = interrupt;
    IoDisconnectInterruptEx(&gone);
    EXPECT_FALSE(IrpRaiseInterrupt(device.interrupt_vector()));
}

TEST_P(Interrupts, Messages_FallBackToTheLine) {
    const irp::pnp_device device;
    int calls = 0;
    KINTERRUPT* interrupt = nullptr;
    IO_CONNECT_INTERRUPT_PARAMETERS wanted{};
    wanted.Version = CONNECT_MESSAGE_BASED;
    wanted.MessageBased.PhysicalDeviceObject = device.physical_device();
    wanted.MessageBased.ConnectionContext.InterruptObject = &interrupt;
    wanted.MessageBased.ServiceContext = &calls;
    EXPECT_EQ(IoConnectInterruptEx(&wanted), STATUS_NOT_FOUND);
    wanted.MessageBased.FallBackServiceRoutine = claim;
    ASSERT_EQ(IoConnectInterruptEx(&wanted), STATUS_SUCCESS);
    EXPECT_EQ(wanted.Version, ULONG{CONNECT_LINE_BASED});
    EXPECT_TRUE(IrpRaiseInterrupt(device.interrupt_vector()));
    IoDisconnectInterrupt(interrupt);
}

TEST_P(Interrupts, VersionOrDeviceThatIsUnknown_IsRefused) {
    IO_CONNECT_INTERRUPT_PARAMETERS wanted{};
    wanted.Version = 9;
    EXPECT_EQ(IoConnectInterruptEx(&wanted), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(wanted.Version, ULONG{CONNECT_FULLY_SPECIFIED_GROUP});
    KINTERRUPT* interrupt = nullptr;
    wanted.Version = CONNECT_LINE_BASED;
    wanted.LineBased.InterruptObject = &interrupt;
    EXPECT_EQ(IoConnectInterruptEx(&wanted), STATUS_INVALID_DEVICE_REQUEST);
}

TEST_P(Interrupts, FullySpecifiedForm_IsThatOfIoConnectInterrupt) {
    int calls = 0;
    KINTERRUPT* interrupt = nullptr;
    IO_CONNECT_INTERRUPT_PARAMETERS wanted{};
    wanted.Version = CONNECT_FULLY_SPECIFIED;
    wanted.FullySpecified.InterruptObject = &interrupt;
    wanted.FullySpecified.ServiceRoutine = claim;
    wanted.FullySpecified.ServiceContext = &calls;
    wanted.FullySpecified.Vector = vector;
    wanted.FullySpecified.Irql = device_level;
    EXPECT_EQ(IoConnectInterruptEx(&wanted), STATUS_INVALID_PARAMETER);
    wanted.FullySpecified.SynchronizeIrql = device_level;
    ASSERT_EQ(IoConnectInterruptEx(&wanted), STATUS_SUCCESS);
    EXPECT_TRUE(IrpRaiseInterrupt(vector));
    EXPECT_EQ(calls, 1);
    IoDisconnectInterrupt(interrupt);
}

TEST_P(Interrupts, SynchronizedRoutine_RunsAsTheServiceRoutineDoes) {
    int calls = 0;
    const connected_interrupt interrupt(claim, &calls);
    const auto level = [](PVOID to) -> BOOLEAN {
        *static_cast<KIRQL*>(to) = KeGetCurrentIrql();
        return FALSE;
    };
    KIRQL seen = 0;
    EXPECT_FALSE(KeSynchronizeExecution(interrupt.get(), level, &seen));
    EXPECT_EQ(seen, device_level);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
    const KIRQL old = KeAcquireInterruptSpinLock(interrupt.get());
    EXPECT_EQ(old, PASSIVE_LEVEL);
    EXPECT_EQ(KeGetCurrentIrql(), device_level);
    KeReleaseInterruptSpinLock(interrupt.get(), old);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

IRPVERBS_ON_BOTH_MACHINES(Interrupts);

using InterruptMistakes = BothMachines;

TEST_P(InterruptMistakes, RoutineThatLeavesAnotherLevel_IsABugCheck) {
    const auto report = report_of([] {
        KINTERRUPT* interrupt = nullptr;
        const PKSERVICE_ROUTINE leave = [](PKINTERRUPT, PVOID) -> BOOLEAN {
            KIRQL ignored = 0;
            KeRaiseIrql(HIGH_LEVEL, &ignored);
            return TRUE;
        };
        IoConnectInterrupt(&interrupt, leave, nullptr, nullptr, vector, device_level, device_level,
                           Latched, FALSE, 1, FALSE);
        struct lowered {
            ~lowered() { dispatch::detail::this_processor().irql = PASSIVE_LEVEL; }
        } const at_the_end;
        IrpRaiseInterrupt(vector);
    });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, ULONG{IRQL_UNEXPECTED_VALUE});
}

IRPVERBS_ON_THE_SIMULATED_MACHINE(InterruptMistakes);

TEST(InterruptRules, SpinLockOfDispatchLevelInAServiceRoutine_IsReported) {
    const auto all = found_in([](dispatch::sim_machine&) {
        KSPIN_LOCK lock = 0;
        const connected_interrupt interrupt(
            [](PKINTERRUPT, PVOID context) -> BOOLEAN {
                auto* const wrong = static_cast<KSPIN_LOCK*>(context);
                KIRQL old = 0;
                KeAcquireSpinLock(wrong, &old);
                KeReleaseSpinLock(wrong, old);
                return TRUE;
            },
            &lock);
        IrpRaiseInterrupt(vector);
    });
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].rule, "IrqlKeDispatchLte");
}

TEST(InterruptRules, InterruptThatWasDisconnected_IsUsedFreedMemory) {
    const std::string report = report_of_one_run([](dispatch::sim_machine& sim) {
        sim.spawn("driver", [] {
            int calls = 0;
            connected_interrupt interrupt(claim, &calls);
            KINTERRUPT* const gone = interrupt.get();
            interrupt.disconnect();
            KeSynchronizeExecution(
                gone, [](PVOID) -> BOOLEAN { return TRUE; }, nullptr);
        });
        sim.run();
    });
    EXPECT_EQ(rule_in(report), "FreedMemoryUsed") << report;
}

TEST(InterruptRules, NoInterrupt_IsNamed) {
    const std::string report = report_of_one_run([](dispatch::sim_machine& sim) {
        sim.spawn("driver", [] {
            KeSynchronizeExecution(
                nullptr, [](PVOID) -> BOOLEAN { return TRUE; }, nullptr);
        });
        sim.run();
    });
    EXPECT_NE(report.find("KeSynchronizeExecution: the interrupt is NULL"), std::string::npos)
        << report;
}

// Two words that the service routine, a synchronized routine and a holder of the lock keep equal.
struct pair_of_words {
    int one = 0;
    int other = 0;

    static BOOLEAN change(PVOID context) {
        auto& self = *static_cast<pair_of_words*>(context);
        EXPECT_EQ(self.one, self.other);
        ++self.one;
        dynamic_cast<dispatch::sim_machine&>(dispatch::machine::current()).yield();
        ++self.other;
        return TRUE;
    }
    static BOOLEAN service(PKINTERRUPT, PVOID context) { return change(context); }
};

void change_from_all_sides(dispatch::sim_machine& sim) {
    pair_of_words words;
    const connected_interrupt interrupt(pair_of_words::service, &words);
    sim.spawn("hardware", [] { IrpRaiseInterrupt(vector); });
    sim.spawn("synchronized",
              [&] { KeSynchronizeExecution(interrupt.get(), pair_of_words::change, &words); });
    sim.spawn("holder", [&] {
        const KIRQL old = KeAcquireInterruptSpinLock(interrupt.get());
        pair_of_words::change(&words);
        KeReleaseInterruptSpinLock(interrupt.get(), old);
    });
    sim.run();
    EXPECT_EQ(words.one, 3);
    EXPECT_EQ(words.other, 3);
}

TEST(InterruptRaces, RoutinesUnderTheLock_ExcludeEachOther) {
    const irp::verifier_scope verified("default");
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 300;
    expect_explored(options, change_from_all_sides);
}

// After the disconnect the context may be freed: no routine runs.
void disconnect_while_raised(dispatch::sim_machine& sim) {
    bool alive = true;
    connected_interrupt interrupt(
        [](PKINTERRUPT, PVOID context) -> BOOLEAN {
            EXPECT_TRUE(*static_cast<bool*>(context));
            dynamic_cast<dispatch::sim_machine&>(dispatch::machine::current()).yield();
            EXPECT_TRUE(*static_cast<bool*>(context));
            return TRUE;
        },
        &alive);
    sim.spawn("hardware", [] { IrpRaiseInterrupt(vector); });
    sim.spawn("driver", [&] {
        interrupt.disconnect();
        alive = false;
    });
    sim.run();
}

TEST(InterruptRaces, Disconnect_AwaitsTheRoutine) {
    const irp::verifier_scope verified("default");
    dispatch::explore_options options;
    options.random_runs = options.pct_runs = 300;
    expect_explored(options, disconnect_while_raised);
}

// The DPC of a service routine and the routine itself run at the same time in some schedule.
void raise_while_the_dpc_runs(dispatch::sim_machine& sim, bool& together) {
    struct state {
        KDPC dpc{};
        bool in_dpc = false;
        bool seen = false;
    } mine;
    KeInitializeDpc(
        &mine.dpc,
        [](PKDPC, PVOID context, PVOID, PVOID) {
            auto& self = *static_cast<state*>(context);
            self.in_dpc = true;
            dynamic_cast<dispatch::sim_machine&>(dispatch::machine::current()).yield();
            self.in_dpc = false;
        },
        &mine);
    const connected_interrupt interrupt(
        [](PKINTERRUPT, PVOID context) -> BOOLEAN {
            auto& self = *static_cast<state*>(context);
            self.seen = self.seen || self.in_dpc;
            KeInsertQueueDpc(&self.dpc, nullptr, nullptr);
            return TRUE;
        },
        &mine);
    for (const char* const name : {"first", "second"})
        sim.spawn(name, [] { IrpRaiseInterrupt(vector); });
    sim.run();
    together = together || mine.seen;
}

TEST(InterruptRaces, ServiceRoutine_InterruptsItsDpc) {
    bool together = false;
    dispatch::explore_options options;
    options.random_runs = 300;
    expect_explored(options,
                    [&](dispatch::sim_machine& sim) { raise_while_the_dpc_runs(sim, together); });
    EXPECT_TRUE(together);
}

} // namespace
