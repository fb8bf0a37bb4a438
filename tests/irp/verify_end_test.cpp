// Rules on objects left at the end, on devices and on remove locks, one violation and one correct
// use each.
#include "verified.hpp"

#include <support/bug_checks.hpp>

#include <dispatch/testing/swarm.hpp>

#include <utility>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;
namespace dispatch = irpverbs::dispatch;

constexpr ULONG lock_tag = 0x6B636F4C;

TEST(LostIrp, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver driver(pend_in(pended));
        request asked;
        asked.send(driver);
        EXPECT_EQ(VerifierCheckQuiescence(), 1u);
        complete(pended, STATUS_SUCCESS);
    });
    EXPECT_TRUE(is(found, "LostIrp", io_violation, 0x49521011));
    EXPECT_TRUE(found.at(0).has_stack("sent at"));
    EXPECT_NE(found[0].history.find("sent, location 1, device#1"), std::string::npos);
}
TEST(LostIrp, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        request(1).send(driver);
        EXPECT_EQ(VerifierCheckQuiescence(), 0u);
    })));
}

// The machine's end runs the check.
TEST(IrpLeak, Broken_IsReported) {
    IRP* leaked = nullptr;
    const auto found = found_in([&](sim_machine&) { leaked = IoAllocateIrp(1, FALSE); });
    EXPECT_TRUE(is(found, "IrpLeak", violation, 0x62));
    EXPECT_TRUE(found.at(0).has_stack("allocated at"));
    IoFreeIrp(leaked);
}
TEST(IrpLeak, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { IoFreeIrp(IoAllocateIrp(1, FALSE)); })));
}

TEST(DeleteDevice, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        request asked;
        ObReferenceObject(driver.device()); // keeps the memory for the check below
        IoDeleteDevice(driver.device());
        asked.send(driver);
        ObDereferenceObject(driver.device());
        driver.forget_device();
    });
    EXPECT_TRUE(is(found, "DeleteDevice", io_violation, 0x04));
    EXPECT_TRUE(found.at(0).has_stack("deleted at"));
}
TEST(DeleteDevice, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        for (int i = 0; i < 3; ++i) { // also for a new device at the address of a deleted one
            lambda_driver driver(succeed_at_once);
            request(1).send(driver);
        }
    })));
}

/// The rule that IoDeleteDevice violates when `use` left that object in the extension; "" when
/// none.
template <class Object>
std::string rule_of_deleting_with(const std::function<void(Object*)>& use,
                                  const std::function<void(Object*)>& end) {
    const irpverbs::irp::verifier_scope verified("default");
    dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    EXPECT_EQ(
        IoCreateDevice(&driver, sizeof(Object), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
        STATUS_SUCCESS);
    auto* object = static_cast<Object*>(device->DeviceExtension);
    use(object);
    const auto report = report_of([&] { IoDeleteDevice(device); });
    if (!report) return "";
    keep_lost(device); // the report came before the memory was freed
    end(object);
    return report->rule;
}
void start_a_timer(KTIMER* timer) {
    KeInitializeTimer(timer);
    LARGE_INTEGER later;
    later.QuadPart = -10'000'000;
    KeSetTimer(timer, later, nullptr);
}
void cancel_a_timer(KTIMER* timer) { KeCancelTimer(timer); }

TEST(DeviceMemory, IoDeleteDevice_WithATimerSetInTheExtension_IsTimerFreed) {
    EXPECT_EQ(rule_of_deleting_with<KTIMER>(start_a_timer, cancel_a_timer), "TimerFreed");
}
TEST(DeviceMemory, IoDeleteDevice_WithALookasideListInTheExtension_IsLookasideFreed) {
    EXPECT_EQ(rule_of_deleting_with<NPAGED_LOOKASIDE_LIST>(
                  [](NPAGED_LOOKASIDE_LIST* list) {
                      ExInitializeNPagedLookasideList(list, nullptr, nullptr, 0, 32, lock_tag, 0);
                  },
                  ExDeleteNPagedLookasideList),
              "LookasideFreed");
}
// The last reference may be released at DISPATCH_LEVEL, and with it a lock that is held.
TEST(DeviceMemory, ObDereferenceObject_WithALockHeldInTheExtension_IsLockFreed) {
    const irpverbs::irp::verifier_scope verified("default");
    dispatch::random_choices chance(1);
    sim_machine sim(chance);
    const dispatch::machine::scope here(sim);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, sizeof(KSPIN_LOCK), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    auto* lock = static_cast<KSPIN_LOCK*>(device->DeviceExtension);
    KeInitializeSpinLock(lock);
    ObReferenceObject(device);
    IoDeleteDevice(device);
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(lock);
    const auto report = report_of([&] { ObDereferenceObject(device); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->rule, "LockFreed");
    KeReleaseSpinLock(lock, level);
    keep_lost(device); // the report came before the memory was freed
}
TEST(DeviceMemory, IoDeleteDevice_WithATimerCancelled_IsRight) {
    EXPECT_EQ(rule_of_deleting_with<KTIMER>(
                  [](KTIMER* timer) {
                      start_a_timer(timer);
                      cancel_a_timer(timer);
                  },
                  cancel_a_timer),
              "");
}

std::vector<reported_finding> reports_of_reference(bool release_first) {
    return found_in([release_first](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        DEVICE_OBJECT* top = IoGetAttachedDeviceReference(driver.device());
        if (release_first) ObDereferenceObject(top);
        VerifierCheckQuiescence();
        if (!release_first) ObDereferenceObject(top);
    });
}
TEST(DanglingDeviceObjectReference, Broken_IsReported) {
    EXPECT_TRUE(
        is(reports_of_reference(false), "DanglingDeviceObjectReference", violation, 0x49521012));
}
TEST(DanglingDeviceObjectReference, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(reports_of_reference(true)));
}

std::vector<reported_finding> with_lock(const std::function<void(IO_REMOVE_LOCK*)>& use) {
    return found_in([&](sim_machine&) {
        IO_REMOVE_LOCK lock;
        IoInitializeRemoveLock(&lock, lock_tag, 0, 0);
        use(&lock);
        VerifierCheckQuiescence();
    });
}
int first_tag;
int second_tag;

TEST(RemoveLock, Broken_IsReported) {
    EXPECT_TRUE(is(with_lock([](IO_REMOVE_LOCK* lock) { IoAcquireRemoveLock(lock, &first_tag); }),
                   "RemoveLock", violation, 0x49521013));
}
void in_and_out(IO_REMOVE_LOCK* lock) {
    IoAcquireRemoveLock(lock, &first_tag);
    IoReleaseRemoveLock(lock, &first_tag);
    IoAcquireRemoveLock(lock, &second_tag);
    IoReleaseRemoveLockAndWait(lock, &second_tag);
}
TEST(RemoveLock, Kept_IsNotReported) { EXPECT_TRUE(nothing(with_lock(in_and_out))); }

TEST(RemoveLockRelease, Broken_IsReported) {
    const auto found = with_lock([](IO_REMOVE_LOCK* lock) {
        IoAcquireRemoveLock(lock, &first_tag);
        IoReleaseRemoveLock(lock, &second_tag);
    });
    EXPECT_TRUE(is(found, "RemoveLockRelease", violation, 0xD5));
    EXPECT_TRUE(found.at(0).has_stack("held since"));
    const auto twice = with_lock([](IO_REMOVE_LOCK* lock) {
        IoAcquireRemoveLock(lock, &first_tag);
        IoReleaseRemoveLock(lock, &first_tag);
        IoReleaseRemoveLock(lock, &first_tag);
    });
    EXPECT_TRUE(is(twice, "RemoveLockRelease", violation, 0xD5));
    EXPECT_TRUE(twice.at(0).has_stack("released before at"));
}
TEST(RemoveLockRelease, Kept_IsNotReported) { EXPECT_TRUE(nothing(with_lock(in_and_out))); }

TEST(RemoveLockReleaseAndWait, Broken_IsReported) {
    EXPECT_TRUE(is(with_lock([](IO_REMOVE_LOCK* lock) {
                       IoAcquireRemoveLock(lock, &first_tag);
                       IoReleaseRemoveLockAndWait(lock, &second_tag);
                   }),
                   "RemoveLockReleaseAndWait", violation, 0xD6));
}
TEST(RemoveLockReleaseAndWait, Kept_IsNotReported) { EXPECT_TRUE(nothing(with_lock(in_and_out))); }

TEST(RemoveLockInitialize, Broken_IsReported) {
    EXPECT_TRUE(is(with_lock([](IO_REMOVE_LOCK* lock) {
                       IoAcquireRemoveLock(lock, &first_tag);
                       IoInitializeRemoveLock(lock, lock_tag, 0, 0);
                   }),
                   "RemoveLockInitialize", violation, 0xD7));
}
TEST(RemoveLockInitialize, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(with_lock([](IO_REMOVE_LOCK* lock) {
        in_and_out(lock);
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
    })));
}

/// All major functions.
constexpr UCHAR majors[] = {IRP_MJ_CREATE,
                            IRP_MJ_CLOSE,
                            IRP_MJ_READ,
                            IRP_MJ_WRITE,
                            IRP_MJ_FLUSH_BUFFERS,
                            IRP_MJ_DEVICE_CONTROL,
                            IRP_MJ_INTERNAL_DEVICE_CONTROL,
                            IRP_MJ_SHUTDOWN,
                            IRP_MJ_CLEANUP,
                            IRP_MJ_POWER,
                            IRP_MJ_SYSTEM_CONTROL,
                            IRP_MJ_PNP};

/// A dispatch routine that acquires and releases remove locks.
std::vector<reported_finding>
ask_locked(const std::function<void(IO_REMOVE_LOCK*, IO_REMOVE_LOCK*)>& before,
           UCHAR major = IRP_MJ_READ, const std::string& options = "default") {
    return found_with(options, [&](sim_machine&) {
        IO_REMOVE_LOCK one;
        IO_REMOVE_LOCK two;
        IoInitializeRemoveLock(&one, lock_tag, 0, 0);
        IoInitializeRemoveLock(&two, lock_tag, 0, 0);
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            before(&one, &two);
            return complete(irp, STATUS_SUCCESS);
        });
        request(1, major).send(driver);
    });
}
TEST(RemoveLockRelease2, Broken_IsReported) {
    for (const UCHAR major : majors)
        EXPECT_TRUE(is(ask_locked([](IO_REMOVE_LOCK* one,
                                     IO_REMOVE_LOCK*) { IoAcquireRemoveLock(one, &first_tag); },
                                  major),
                       "RemoveLockRelease2", violation, 0x49521014))
            << int{major};
}
TEST(RemoveLockRelease2, Kept_IsNotReported) {
    for (const UCHAR major : majors)
        EXPECT_TRUE(nothing(ask_locked(
            [](IO_REMOVE_LOCK* one, IO_REMOVE_LOCK*) {
                IoAcquireRemoveLock(one, &first_tag);
                IoReleaseRemoveLock(one, &first_tag);
            },
            major)))
            << int{major};
}
// A driver that resumes the requests which it held acquires the lock for each, and they pend.
TEST(RemoveLockRelease2Rule, AcquiredForAnotherRequest_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        IO_REMOVE_LOCK lock;
        IRP* held = nullptr;
        IoInitializeRemoveLock(&lock, lock_tag, 0, 0);
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            if (held == nullptr) return pend_in(held)(nullptr, irp);
            IoAcquireRemoveLock(&lock, held);
            return complete(irp, STATUS_SUCCESS);
        });
        request first;
        first.send(driver);
        request(1).send(driver);
        IoReleaseRemoveLock(&lock, held);
        complete(held, STATUS_SUCCESS);
    })));
}
void both(IO_REMOVE_LOCK* one, IO_REMOVE_LOCK* two) {
    IoAcquireRemoveLock(one, &first_tag);
    IoAcquireRemoveLock(two, &first_tag);
    IoReleaseRemoveLock(two, &first_tag);
    IoReleaseRemoveLock(one, &first_tag);
}
TEST(MultRemoveLock, Broken_IsReported) {
    const auto found = ask_locked(both, IRP_MJ_READ, "default,two_remove_locks=fail");
    EXPECT_TRUE(is(found, "MultRemoveLock", violation, 0x49521015));
    EXPECT_TRUE(found.at(0).has_stack("other one acquired at"));
}
TEST(MultRemoveLock, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_locked(both))); // Microsoft's rule is a warning
    EXPECT_TRUE(nothing(ask_locked(both, IRP_MJ_READ, "default,two_remove_locks=allow")));
    EXPECT_TRUE(nothing(ask_locked([](IO_REMOVE_LOCK* one, IO_REMOVE_LOCK*) {
        for (int i = 0; i < 2; ++i) {
            IoAcquireRemoveLock(one, &first_tag);
            IoReleaseRemoveLock(one, &first_tag);
        }
    })));
}

/// A request during whose dispatch IoReleaseRemoveLockAndWait is called.
std::vector<reported_finding> waits_in_hand(UCHAR major, bool for_own_lock = true,
                                            bool serves_pnp = true) {
    return found_in([=](sim_machine&) {
        IO_REMOVE_LOCK of_a_file;
        IO_REMOVE_LOCK* lock = &of_a_file;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            in_and_out(lock);
            return complete(irp, STATUS_SUCCESS);
        });
        if (!serves_pnp) driver.driver_object().MajorFunction[IRP_MJ_PNP] = nullptr;
        if (for_own_lock) lock = &driver.remove_lock();
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
        request(1, major).send(driver);
    });
}
TEST(IoReleaseRemoveLockAndWaitOutsideRemoveDevice, Broken_IsReported) {
    EXPECT_TRUE(is(waits_in_hand(IRP_MJ_READ), "IoReleaseRemoveLockAndWaitOutsideRemoveDevice",
                   violation, 0x49521021));
}
TEST(IoReleaseRemoveLockAndWaitOutsideRemoveDevice, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(waits_in_hand(IRP_MJ_PNP)));
    EXPECT_TRUE(nothing(waits_in_hand(IRP_MJ_CLEANUP, false))); // the lock of a file
    EXPECT_TRUE(nothing(waits_in_hand(IRP_MJ_CLEANUP, true, false)));
}

NTSTATUS unlock(DEVICE_OBJECT*, IRP* irp, void* lock) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    IoReleaseRemoveLock(static_cast<IO_REMOVE_LOCK*>(lock), irp);
    return STATUS_CONTINUE_COMPLETION;
}

enum class holds {
    with_the_irp, // the IRP is the tag
    with_a_tag,   // a tag of its own
    nothing,
};

/// A filter holds its remove lock for a first request, which is still below or was completed when a
/// second one arrives.
std::vector<reported_finding> forwards(UCHAR major, holds second, bool first_is_below) {
    return found_in([=](sim_machine&) {
        IO_REMOVE_LOCK* lock = nullptr;
        IRP* pended = nullptr;
        bool is_first = true;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            const holds what = std::exchange(is_first, false) ? holds::with_the_irp : second;
            IoCopyCurrentIrpStackLocationToNext(irp);
            if (what == holds::nothing) return IoCallDriver(below.device(), irp);
            if (what == holds::with_the_irp) {
                IoAcquireRemoveLock(lock, irp);
                IoSetCompletionRoutine(irp, unlock, lock, TRUE, TRUE, TRUE);
                return IoCallDriver(below.device(), irp);
            }
            IoAcquireRemoveLock(lock, lock);
            const NTSTATUS status = IoCallDriver(below.device(), irp);
            IoReleaseRemoveLock(lock, lock);
            return status;
        });
        lock = &filter.remove_lock();
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
        request first(2, IRP_MJ_WRITE);
        first.send(filter);
        if (!first_is_below) complete(std::exchange(pended, nullptr), STATUS_SUCCESS);
        IRP* of_first = std::exchange(pended, nullptr);
        request other(2, major);
        other.send(filter);
        complete(pended, STATUS_SUCCESS);
        if (of_first != nullptr) complete(of_first, STATUS_SUCCESS);
        IoAcquireRemoveLock(lock, lock);
        IoReleaseRemoveLockAndWait(lock, lock);
    });
}
TEST(RemoveLockForward, Broken_IsReported) {
    for (const UCHAR major : majors)
        for (const bool first_is_below : {false, true}) {
            const auto found = forwards(major, holds::nothing, first_is_below);
            EXPECT_TRUE(is(found, "RemoveLockForward", violation, 0x49521020)) << int{major};
        }
}
TEST(RemoveLockForward, Kept_IsNotReported) {
    for (const UCHAR major : majors)
        for (const bool first_is_below : {false, true})
            for (const holds what : {holds::with_the_irp, holds::with_a_tag})
                EXPECT_TRUE(nothing(forwards(major, what, first_is_below))) << int{major};
}

// The first request is still below when the second one is completed; both dispatch routines ran at
// the same stack depth.
TEST(RemoveLockReleaseRule, EarlierRequestStillBelow_IsAccepted) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        IO_REMOVE_LOCK lock;
        IoInitializeRemoveLock(&lock, lock_tag, 0, 0);
        IRP* pended = nullptr;
        lambda_driver below([&](DEVICE_OBJECT* device, IRP* irp) {
            return pended == nullptr ? pend_in(pended)(device, irp) : succeed_at_once(device, irp);
        });
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IoAcquireRemoveLock(&lock, irp);
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, unlock, &lock, TRUE, TRUE, TRUE);
            return IoCallDriver(below.device(), irp);
        });
        std::array<request, 2> both{request(2, IRP_MJ_READ), request(2, IRP_MJ_READ)};
        for (request& each : both)
            each.send(filter);
        complete(pended, STATUS_SUCCESS);
    })));
}

// A hold under a tag that is no request may protect all requests.
TEST(RemoveLockForwardRule, OneHoldForAllRequests_IsAccepted) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        IO_REMOVE_LOCK* lock = nullptr;
        bool locks = true;
        lambda_driver below(succeed_at_once);
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            if (std::exchange(locks, false)) {
                IoAcquireRemoveLock(lock, irp);
                IoReleaseRemoveLock(lock, irp);
            }
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver(below.device(), irp);
        });
        lock = &filter.remove_lock();
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
        IoAcquireRemoveLock(lock, &first_tag);
        request(2).send(filter);
        request(2).send(filter);
        IoReleaseRemoveLockAndWait(lock, &first_tag);
    })));
}

// A filter with a lock for each open file: each request holds the lock of its own file, one none.
TEST(RemoveLockForwardRule, LockOfAFile_IsNotTheDevicesOwn) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        std::array<IO_REMOVE_LOCK, 2> files;
        std::size_t next = 0;
        for (IO_REMOVE_LOCK& each : files)
            IoInitializeRemoveLock(&each, lock_tag, 0, 0);
        lambda_driver below(succeed_at_once);
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IO_REMOVE_LOCK* lock = next < files.size() ? &files.at(next++) : nullptr;
            if (lock != nullptr) IoAcquireRemoveLock(lock, irp);
            IoSkipCurrentIrpStackLocation(irp);
            const NTSTATUS status = IoCallDriver(below.device(), irp);
            if (lock != nullptr) IoReleaseRemoveLock(lock, irp);
            return status;
        });
        for (int i = 0; i < 3; ++i)
            request(2).send(filter);
    })));
}

// A hold under the tag of another request does not protect this one.
TEST(RemoveLockForwardRule, HoldUnderTagOfOtherRequest_IsReported) {
    const auto found = found_in([](sim_machine&) {
        IO_REMOVE_LOCK* lock = nullptr;
        IRP* pended = nullptr;
        bool locks = true;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            if (!std::exchange(locks, false)) return IoCallDriver(below.device(), irp);
            IoAcquireRemoveLock(lock, irp);
            const NTSTATUS status = IoCallDriver(below.device(), irp);
            IoReleaseRemoveLock(lock, irp);
            return status;
        });
        lock = &filter.remove_lock();
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
        request first(2);
        request other(2);
        first.send(filter);
        IRP* of_first = std::exchange(pended, nullptr);
        IoAcquireRemoveLock(lock, of_first); // the driver's other use of the request
        other.send(filter);
        complete(pended, STATUS_SUCCESS);
        complete(of_first, STATUS_SUCCESS);
        IoReleaseRemoveLockAndWait(lock, of_first);
    });
    EXPECT_TRUE(is(found, "RemoveLockForward", violation, 0x49521020));
    EXPECT_TRUE(found.at(0).has_stack("remove lock released last at"));
}

// A request that is created for another one and sent through the driver's own device is protected
// by the other one's hold.
TEST(RemoveLockForwardRule, NestedRequestUnderOuterHold_IsAccepted) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        IO_REMOVE_LOCK* lock = nullptr;
        bool outer = true;
        lambda_driver below(succeed_at_once);
        lambda_driver* itself = nullptr;
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            const bool around = std::exchange(outer, false);
            if (around) IoAcquireRemoveLock(lock, irp);
            if (around) request(2).send(*itself);
            IoSkipCurrentIrpStackLocation(irp);
            const NTSTATUS status = IoCallDriver(below.device(), irp);
            if (around) IoReleaseRemoveLock(lock, irp);
            return status;
        });
        lock = &filter.remove_lock();
        IoInitializeRemoveLock(lock, lock_tag, 0, 0);
        itself = &filter;
        request(2).send(filter);
        IoAcquireRemoveLock(lock, &first_tag);
        IoReleaseRemoveLockAndWait(lock, &first_tag);
    })));
}

/// A device that is deleted while a request is pending in it, or afterwards.
std::vector<reported_finding> deleted(bool early) {
    return found_in([early](sim_machine&) {
        IRP* pended = nullptr;
        request asked(1);
        {
            IO_REMOVE_LOCK* lock = nullptr;
            lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
                IoAcquireRemoveLock(lock, irp);
                IoMarkIrpPending(irp);
                pended = irp;
                return STATUS_PENDING;
            });
            lock = &driver.remove_lock();
            IoInitializeRemoveLock(lock, lock_tag, 0, 0);
            asked.send(driver);
            if (!early) {
                complete(pended, STATUS_SUCCESS);
                IoReleaseRemoveLock(lock, pended);
            }
        }
        if (early) complete(pended, STATUS_SUCCESS);
    });
}
TEST(RemoveLockCheck, Broken_IsReported) {
    const auto found = deleted(true);
    EXPECT_TRUE(is(found, "RemoveLockCheck", violation, 0x4952101F));
    EXPECT_TRUE(found.at(0).has_stack("acquired at"));
}
TEST(RemoveLockCheck, Kept_IsNotReported) { EXPECT_TRUE(nothing(deleted(false))); }

NTSTATUS go_on(DEVICE_OBJECT*, IRP* irp, void*) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

// IoSetCompletionRoutineEx fails each time; one filter checks its status, one does not.
std::vector<reported_finding> short_of_memory(bool checks_status) {
    const irpverbs::irp::verifier_scope verified("default,low_resources");
    dispatch::detail::settings.fault_one_in = 1;
    const findings seen(dispatch::detail::enabled_checks.load());
    {
        dispatch::random_choices chance(1);
        sim_machine sim(chance);
        const dispatch::machine::scope here(sim);
        dispatch::detail::set_enabled_checks(
            dispatch::detail::enabled_checks.load() &
            ~static_cast<std::uint32_t>(dispatch::detail::check::low_resources));
        lambda_driver below(succeed_at_once);
        lambda_driver filter(below, [&](DEVICE_OBJECT* self, IRP* irp) {
            const std::uint32_t calm = dispatch::detail::enabled_checks.load();
            dispatch::detail::set_enabled_checks(
                calm | static_cast<std::uint32_t>(dispatch::detail::check::low_resources));
            IoCopyCurrentIrpStackLocationToNext(irp);
            const NTSTATUS status =
                IoSetCompletionRoutineEx(self, irp, go_on, nullptr, TRUE, TRUE, TRUE);
            dispatch::detail::set_enabled_checks(calm);
            if (checks_status && !NT_SUCCESS(status)) return complete(irp, status);
            return IoCallDriver(below.device(), irp);
        });
        request(2).send(filter);
    }
    dispatch::detail::settings.fault_one_in = 17;
    return seen.all();
}
TEST(IoSetCompletionExCompleteIrp, Broken_IsReported) {
    EXPECT_TRUE(is(short_of_memory(false), "IoSetCompletionExCompleteIrp", violation, 0x0004100F));
}
TEST(IoSetCompletionExCompleteIrp, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(short_of_memory(true)));
}

} // namespace
