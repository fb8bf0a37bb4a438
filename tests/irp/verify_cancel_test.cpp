// Rules on cancelling and on locks, one violation and one correct use for each.
#include "verified.hpp"

#include <support/exhaustive_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

void finish_cancelled(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    complete(irp, STATUS_CANCELLED);
}
void finish_under_lock(DEVICE_OBJECT*, IRP* irp) {
    const KIRQL level = irp->CancelIrql;
    complete(irp, STATUS_CANCELLED);
    IoReleaseCancelSpinLock(level);
}
void keep_lock(DEVICE_OBJECT*, IRP*) {}
void stay_at_dispatch(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(DISPATCH_LEVEL);
    complete(irp, STATUS_CANCELLED);
}

/// A driver that pends with that cancel routine.
lambda_driver::routine pend_with(PDRIVER_CANCEL routine) {
    return [routine](DEVICE_OBJECT*, IRP* irp) {
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, routine);
        return STATUS_PENDING;
    };
}

std::vector<reported_finding> cancel_one(PDRIVER_CANCEL routine,
                                         const std::string& options = "io,cancel,lifetime") {
    return found_with(options, [routine](sim_machine&) {
        lambda_driver driver(pend_with(routine));
        request asked;
        asked.send(driver);
        IoCancelIrp(asked.irp());
        if (routine == keep_lock) {
            IoReleaseCancelSpinLock(PASSIVE_LEVEL);
            complete(asked.irp(), STATUS_CANCELLED);
        }
    });
}

TEST(CancelSpinLock, Broken_IsReported) {
    EXPECT_TRUE(is(cancel_one(keep_lock), "CancelSpinLock", DRIVER_RETURNED_HOLDING_CANCEL_LOCK,
                   0x49521007));
}
TEST(CancelSpinLock, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_one(finish_cancelled))); }

// IoCancelIrp against IoFreeIrp in each schedule: the IRP is freed before, after or during the
// call. Freeing it before or during the call is a finding, and no memory of a freed IRP is written.
TEST(CancelAgainstFree, IrpFreedDuringIoCancelIrp_IsUseAfterFree) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.exhaustive_runs = 5000;
    options.preemption_bound = 2;
    bool during = false;
    const auto summary = run_exploration(options, [&](sim_machine& sim) {
        const findings seen(irpverbs::dispatch::detail::enabled_checks.load());
        lambda_driver driver(succeed_at_once);
        request asked;
        asked.send(driver);
        IRP* irp = asked.irp();
        asked.release();
        bool begun = false;
        bool freed = false;
        bool cancelled = false;
        bool must_be_found = false;
        sim.spawn("cancel", [&] {
            begun = true;
            must_be_found = freed;
            IoCancelIrp(irp);
            cancelled = true;
        });
        sim.spawn("free", [&] {
            IoFreeIrp(irp);
            freed = true;
            during = during || (begun && !cancelled);
        });
        sim.run();
        for (const reported_finding& each : seen.all())
            EXPECT_EQ(each.rule, "UseAfterFree") << each.report;
        EXPECT_TRUE(!must_be_found || !seen.none());
    });
    EXPECT_TRUE(summary.passed()) << summary.text();
    EXPECT_TRUE(during);
}

TEST(CancelRoutineIrql, Broken_IsReported) {
    EXPECT_TRUE(is(cancel_one(stay_at_dispatch), "CancelRoutineIrql", violation, 0x49521009));
}
TEST(CancelRoutineIrql, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_one(finish_cancelled))); }

TEST(SpinLockSafe, Broken_IsReported) {
    const auto found = cancel_one(finish_under_lock);
    EXPECT_TRUE(is(found, "SpinLockSafe", violation, 0x4952100D));
    EXPECT_NE(found.at(0).history.find("cancel routine called"), std::string::npos);
}
TEST(SpinLockSafe, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_one(finish_cancelled))); }

std::vector<reported_finding> complete_in_lock(bool inside) {
    return found_in([inside](sim_machine&) {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            KIRQL old = PASSIVE_LEVEL;
            KeAcquireSpinLock(&lock, &old);
            if (inside) complete(irp, STATUS_SUCCESS);
            KeReleaseSpinLock(&lock, old);
            return inside ? STATUS_SUCCESS : complete(irp, STATUS_SUCCESS);
        });
        request(1).send(driver);
    });
}
TEST(SpinLockSafe, CompleteUnderLock_ReportHasAcquireStack) {
    for (const PDRIVER_CANCEL wrong : {finish_under_lock, keep_lock}) {
        const auto found = cancel_one(wrong, "locks,io,cancel");
        ASSERT_FALSE(found.empty());
        EXPECT_TRUE(found[0].has_stack("lock acquired at")) << found[0].report;
    }
    const auto found = complete_in_lock(true);
    ASSERT_TRUE(is(found, "SpinLockSafe", violation, 0x4952100D));
    EXPECT_TRUE(found[0].has_stack("lock acquired at"));
    EXPECT_TRUE(nothing(complete_in_lock(false)));
}

std::vector<reported_finding> return_with_lock(bool held) {
    return found_in([held](sim_machine&) {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        KIRQL old = PASSIVE_LEVEL;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            const NTSTATUS status = complete(irp, STATUS_SUCCESS);
            KeAcquireSpinLock(&lock, &old);
            if (!held) KeReleaseSpinLock(&lock, old);
            return status;
        });
        request(1).send(driver);
        if (held) KeReleaseSpinLockFromDpcLevel(&lock);
    });
}
TEST(SpinLockReturn, Broken_IsReported) {
    EXPECT_TRUE(is(return_with_lock(true), "SpinLockReturn", violation, 0x00040009));
}
TEST(SpinLockReturn, Kept_IsNotReported) { EXPECT_TRUE(nothing(return_with_lock(false))); }

TEST(CancelSpinlockRelease, Broken_IsReported) {
    const auto found = found_with("cancel", [](sim_machine&) {
        const KIRQL old = KeRaiseIrqlToDpcLevel();
        IoReleaseCancelSpinLock(old);
    });
    EXPECT_TRUE(is(found, "CancelSpinlockRelease", violation, 0x49521008));
}
TEST(CancelSpinlockRelease, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        KIRQL old = PASSIVE_LEVEL;
        IoAcquireCancelSpinLock(&old);
        IoReleaseCancelSpinLock(old);
    })));
}

lambda_driver::routine arm(bool locked) {
    return [locked](DEVICE_OBJECT*, IRP* irp) {
        KIRQL old = PASSIVE_LEVEL;
        IoMarkIrpPending(irp);
        if (locked) IoAcquireCancelSpinLock(&old);
        IoSetCancelRoutine(irp, finish_cancelled);
        if (locked) IoReleaseCancelSpinLock(old);
        return STATUS_PENDING;
    };
}

void send_and_cancel(const lambda_driver& driver) {
    request asked;
    asked.send(driver);
    IoCancelIrp(asked.irp());
}

std::vector<reported_finding> arm_one(bool locked) {
    return found_with("default,cancel_lock_required",
                      [locked](sim_machine&) { send_and_cancel(lambda_driver(arm(locked))); });
}
TEST(CancelLockRequired, Broken_IsReported) {
    EXPECT_TRUE(is(arm_one(false), "CancelLockRequired", violation, 0x49521016));
}
TEST(CancelLockRequired, Kept_IsNotReported) { EXPECT_TRUE(nothing(arm_one(true))); }

// One device queues its IRPs in its device queue, the other in one of its own.
std::vector<reported_finding> arm_one_of_two(bool at_declared, BOOLEAN required) {
    return found_in([=](sim_machine&) {
        const lambda_driver declared(arm(!at_declared));
        const lambda_driver other(arm(false));
        VerifierRequireCancelLock(declared.device(), required);
        send_and_cancel(declared);
        send_and_cancel(other);
    });
}
TEST(CancelLockRequirement, RequiredForOneDevice_OnlyThatDeviceIsReported) {
    EXPECT_TRUE(is(arm_one_of_two(true, TRUE), "CancelLockRequired", violation, 0x49521016));
    EXPECT_EQ(arm_one_of_two(true, TRUE).size(), 1u);
    EXPECT_TRUE(nothing(arm_one_of_two(false, TRUE)));
    EXPECT_TRUE(nothing(arm_one_of_two(true, FALSE)));
}

std::vector<reported_finding> complete_armed(bool withdrawn) {
    return found_in([withdrawn](sim_machine&) {
        lambda_driver driver(pend_with(finish_cancelled));
        request asked;
        asked.send(driver);
        if (withdrawn) IoSetCancelRoutine(asked.irp(), nullptr);
        complete(asked.irp(), STATUS_SUCCESS);
    });
}
TEST(CompletedWithCancelRoutine, Broken_IsReported) {
    const auto found = complete_armed(false);
    EXPECT_TRUE(is(found, "CompletedWithCancelRoutine", io_violation, 0x07));
    EXPECT_TRUE(found.at(0).has_stack("cancel routine set at"));
}
TEST(CompletedWithCancelRoutine, Kept_IsNotReported) { EXPECT_TRUE(nothing(complete_armed(true))); }

std::vector<reported_finding> send_armed(bool withdrawn) {
    return found_in([withdrawn](sim_machine&) {
        lambda_driver below(succeed_at_once);
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            IoSetCancelRoutine(irp, finish_cancelled);
            if (withdrawn) IoSetCancelRoutine(irp, nullptr);
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoCallDriver(below.device(), irp);
            return STATUS_PENDING;
        });
        request(2).send(filter);
    });
}
TEST(ForwardedWithCancelRoutine, Broken_IsReported) {
    EXPECT_TRUE(is(send_armed(false), "ForwardedWithCancelRoutine", io_violation, 0x203));
}
TEST(ForwardedWithCancelRoutine, Kept_IsNotReported) { EXPECT_TRUE(nothing(send_armed(true))); }

std::vector<reported_finding> arm_around_sending(bool after) {
    return found_in([after](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            if (!after) {
                IoSetCancelRoutine(irp, finish_cancelled);
                IoSetCancelRoutine(irp, nullptr);
            }
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoCallDriver(below.device(), irp);
            if (after) {
                IoSetCancelRoutine(irp, finish_cancelled);
                IoSetCancelRoutine(irp, nullptr);
            }
            return STATUS_PENDING;
        });
        request asked(2);
        asked.send(filter);
        complete(pended, STATUS_SUCCESS);
    });
}
TEST(CancelRoutineBelow, Broken_IsReported) {
    EXPECT_TRUE(is(arm_around_sending(true), "CancelRoutineBelow", io_violation, 0x229));
}
TEST(CancelRoutineBelow, Kept_IsNotReported) { EXPECT_TRUE(nothing(arm_around_sending(false))); }

// A driver that sets a cancel routine and then checks Irp->Cancel, or does not.
std::vector<reported_finding> cancel_then_send(bool looks) {
    return found_in([looks](sim_machine&) {
        lambda_driver driver([looks](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            IoSetCancelRoutine(irp, finish_cancelled);
            if (looks && irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr)
                complete(irp, STATUS_CANCELLED);
            return STATUS_PENDING;
        });
        request asked;
        IoCancelIrp(asked.irp()); // no routine is set yet
        asked.send(driver);
        if (!looks) {
            IoSetCancelRoutine(asked.irp(), nullptr);
            complete(asked.irp(), STATUS_SUCCESS);
        }
    });
}
TEST(IrpCancelField, Broken_IsReported) {
    const auto found = cancel_then_send(false);
    EXPECT_TRUE(is(found, "IrpCancelField", violation, 0x4952100B));
    EXPECT_TRUE(found.at(0).has_stack("cancelled at"));
}
TEST(IrpCancelField, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_then_send(true))); }

// The race of IoCancelIrp with the driver of cancel_then_send, which only some schedules lose.
void race_to_arm(sim_machine& sim, bool looks) {
    lambda_driver driver([looks](DEVICE_OBJECT*, IRP* irp) {
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, finish_cancelled);
        if (looks && irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr)
            complete(irp, STATUS_CANCELLED);
        return STATUS_PENDING;
    });
    request asked;
    sim.spawn("send", [&] { asked.send(driver); });
    sim.spawn("cancel", [&] { IoCancelIrp(asked.irp()); });
    sim.run();
}
TEST(IrpCancelField, CancelRacesWithSetCancelRoutine_UncheckedFieldIsReported) {
    const irpverbs::irp::verifier_scope verified("default");
    const auto summary = expect_found({}, [](sim_machine& sim) { race_to_arm(sim, false); });
    EXPECT_NE(summary.failure->what.find("rule: IrpCancelField"), std::string::npos)
        << summary.failure->report;
    explore_options all;
    all.exhaustive_runs = 20000;
    expect_exhausted(all, [](sim_machine& sim) { race_to_arm(sim, true); });
}

// The driver holds the IRP for so many milliseconds after its cancellation.
std::vector<reported_finding> cancel_and_wait(ULONG milliseconds) {
    return found_with("default,cancel_limit_ms=1000", [milliseconds](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver driver(pend_in(pended));
        request asked;
        asked.send(driver);
        IoCancelIrp(asked.irp());
        LARGE_INTEGER interval;
        interval.QuadPart = -10'000ll * milliseconds;
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
        complete(pended, STATUS_CANCELLED);
    });
}
TEST(CancelLatency, Broken_IsReported) {
    EXPECT_TRUE(is(cancel_and_wait(1001), "CancelLatency", violation, 0x135));
}
TEST(CancelLatency, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_and_wait(999))); }

// Two IRPs use one slot: the cancel routine completes either its own IRP or the one in the slot.
struct slot_driver {
    IRP* slot = nullptr;
    bool by_name;
    lambda_driver driver;

    static slot_driver*& only() {
        static slot_driver* driver = nullptr;
        return driver;
    }
    explicit slot_driver(bool careful)
        : by_name(careful), driver([this](DEVICE_OBJECT*, IRP* irp) {
              IoMarkIrpPending(irp);
              slot = irp;
              IoSetCancelRoutine(irp, cancel);
              return STATUS_PENDING;
          }) {
        only() = this;
    }
    static void cancel(DEVICE_OBJECT*, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        IRP* victim = only()->by_name ? irp : only()->slot;
        if (victim != irp) IoSetCancelRoutine(victim, nullptr);
        complete(victim, STATUS_CANCELLED);
    }
};
std::vector<reported_finding> cancel_first_of_two(bool careful) {
    return found_in([careful](sim_machine&) {
        slot_driver slots(careful);
        request first;
        request second;
        first.send(slots.driver);
        second.send(slots.driver);
        IoCancelIrp(first.irp());
        IRP* left = careful ? second.irp() : first.irp();
        IoSetCancelRoutine(left, nullptr);
        complete(left, STATUS_SUCCESS);
    });
}
TEST(WrongIrpCancelled, Broken_IsReported) {
    EXPECT_TRUE(is(cancel_first_of_two(false), "WrongIrpCancelled", violation, 0x4952100C));
}
TEST(WrongIrpCancelled, Kept_IsNotReported) { EXPECT_TRUE(nothing(cancel_first_of_two(true))); }

// A completer that checks or ignores the result of IoSetCancelRoutine.
void complete_against_cancel(sim_machine& sim, bool checks_result) {
    lambda_driver driver(pend_with(finish_cancelled));
    request asked;
    asked.send(driver);
    sim.spawn("cancel", [&] { IoCancelIrp(asked.irp()); });
    sim.spawn("serve", [&] {
        const bool own = IoSetCancelRoutine(asked.irp(), nullptr) != nullptr;
        if (own || !checks_result) complete(asked.irp(), STATUS_SUCCESS);
    });
    sim.run();
}
TEST(CancelRoutineOwnsIrp, Broken_IsReported) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.random_runs = 300;
    options.pct_runs = 300;
    options.stop_at_failure = true;
    const auto summary =
        expect_found(options, [](sim_machine& sim) { complete_against_cancel(sim, false); });
    const std::string& what = summary.failure->what;
    EXPECT_TRUE(what.find("CancelRoutineOwnsIrp") != std::string::npos ||
                what.find("DoubleCompletion") != std::string::npos)
        << what;
}
TEST(CancelRoutineOwnsIrp, Kept_IsNotReported) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.exhaustive_runs = 20000;
    expect_exhausted(options, [](sim_machine& sim) { complete_against_cancel(sim, true); });
}

// The cancel routine and the server decrement a count, and the last one completes the IRP.
struct counted_hold {
    LONG holds = 2;
    void release(IRP* irp) {
        if (InterlockedDecrement(&holds) == 0) complete(irp, STATUS_CANCELLED);
    }
    static inline counted_hold* current = nullptr;
};

void release_in_cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    counted_hold::current->release(irp);
    KeStallExecutionProcessor(0); // the routine still runs when the server completes the IRP
}

TEST(CancelRoutineOwnsIrp, HandedOverByACount_IsNotReported) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.exhaustive_runs = 20000;
    expect_exhausted(options, [](sim_machine& sim) {
        counted_hold hold;
        counted_hold::current = &hold;
        lambda_driver driver(pend_with(release_in_cancel));
        request asked;
        asked.send(driver);
        sim.spawn("cancel", [&] { IoCancelIrp(asked.irp()); });
        sim.spawn("serve", [&] {
            if (IoSetCancelRoutine(asked.irp(), nullptr) != nullptr)
                complete(asked.irp(), STATUS_SUCCESS);
            else
                hold.release(asked.irp());
        });
        sim.run();
    });
}

} // namespace
