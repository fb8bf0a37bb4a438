// Rules on waits for requests, in explorations: a wait without an end occurs only in some
// schedules.
#include "verified.hpp"

#include <support/explore_gtest.hpp>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

/// The failure that an exploration with the verifier on finds; "": none.
template <class Body>
std::string failure_of(const Body& body) {
    const irpverbs::irp::verifier_scope verified("default");
    irpverbs::dispatch::explore_options few;
    few.random_runs = few.pct_runs = 100;
    const auto summary = run_exploration(few, body);
    return summary.failure ? summary.failure->what : "";
}

/// The rule of that failure, or its text if it names none.
template <class Body>
std::string campaign(const Body& body) {
    const std::string failure = failure_of(body);
    const std::string rule = rule_in(failure);
    return rule.empty() ? failure : rule;
}

void wait_for(KEVENT& event) {
    KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
}

/// Completes the pending IRP as soon as there is one.
void complete_pending(sim_machine& sim, IRP*& pended) {
    while (pended == nullptr)
        sim.yield();
    complete(pended, STATUS_SUCCESS);
}

NTSTATUS keep(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }
NTSTATUS keep_and_wake(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}
NTSTATUS mark_keep_and_wake(DEVICE_OBJECT* device, IRP* irp, void* event) {
    IoMarkIrpPending(irp);
    return keep_and_wake(device, irp, event);
}

/// A filter that waits for an IRP that it passed down with that completion routine.
std::string waiting_filter(PIO_COMPLETION_ROUTINE routine) {
    return campaign([=](sim_machine& sim) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            KEVENT back;
            KeInitializeEvent(&back, NotificationEvent, FALSE);
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, routine, &back, TRUE, TRUE, TRUE);
            if (IoCallDriver(below.device(), irp) == STATUS_PENDING) wait_for(back);
            return complete(irp, STATUS_SUCCESS);
        });
        request asked(2);
        sim.spawn("send", [&] { asked.send(filter); });
        sim.spawn("complete", [&] { complete_pending(sim, pended); });
        sim.run();
    });
}
TEST(SignalEventInCompletion, Broken_IsReported) {
    EXPECT_EQ(waiting_filter(keep), "SignalEventInCompletion");
}
TEST(SignalEventInCompletion, Kept_IsNotReported) { EXPECT_EQ(waiting_filter(keep_and_wake), ""); }

TEST(CompletionEventChecking, Broken_IsReported) {
    EXPECT_EQ(waiting_filter(mark_keep_and_wake), "CompletionEventChecking");
}
TEST(CompletionEventChecking, Kept_IsNotReported) { EXPECT_EQ(waiting_filter(keep_and_wake), ""); }

// The commonest hang: a filter takes an IRP back and forgets it.
TEST(HangReport, IrpThatWasTakenBack_NamesTheRoutine) {
    const std::string report = failure_of([](sim_machine& sim) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) -> NTSTATUS {
            IoMarkIrpPending(irp);
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, keep, nullptr, TRUE, TRUE, TRUE);
            IoCallDriver(below.device(), irp);
            return STATUS_PENDING;
        });
        request asked(2);
        KEVENT completed;
        KeInitializeEvent(&completed, NotificationEvent, FALSE);
        sim.spawn("send", [&] { asked.send(filter); });
        sim.spawn("user", [&] { wait_for(completed); });
        sim.spawn("complete", [&] { complete_pending(sim, pended); });
        sim.run();
    });
    EXPECT_NE(report.find("took it back with STATUS_MORE_PROCESSING_REQUIRED"), std::string::npos)
        << report;
    EXPECT_NE(report.find("::keep("), std::string::npos) << report;
}

IRP* allocate(DEVICE_OBJECT*) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    return irp;
}
IRP* build(DEVICE_OBJECT* device) {
    return IoBuildAsynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, device, nullptr, 0, nullptr,
                                         nullptr);
}

NTSTATUS free_and_keep(DEVICE_OBJECT*, IRP* irp, void*) {
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}
NTSTATUS free_and_wake(DEVICE_OBJECT* device, IRP* irp, void* event) {
    free_and_keep(device, irp, event);
    return keep_and_wake(device, irp, event);
}

/// An originator that sends a request with that completion routine and waits for its return.
std::string waiting_originator(IRP* (*make)(DEVICE_OBJECT*), PIO_COMPLETION_ROUTINE routine) {
    return campaign([=](sim_machine& sim) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        sim.spawn("ask", [&] {
            KEVENT back;
            KeInitializeEvent(&back, NotificationEvent, FALSE);
            IRP* own = make(below.device());
            IoSetCompletionRoutine(own, routine, &back, TRUE, TRUE, TRUE);
            IoCallDriver(below.device(), own);
            wait_for(back);
            if (routine == keep_and_wake) IoFreeIrp(own);
        });
        sim.spawn("complete", [&] {
            LARGE_INTEGER millisecond; // machine time: the originator waits by then
            millisecond.QuadPart = -10'000;
            KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
            complete_pending(sim, pended);
        });
        sim.run();
    });
}
TEST(IoAllocateIrpSignalEventInCompletion, Broken_IsReported) {
    EXPECT_EQ(waiting_originator(allocate, keep), "IoAllocateIrpSignalEventInCompletion");
    EXPECT_EQ(waiting_originator(allocate, free_and_keep), "IoAllocateIrpSignalEventInCompletion");
}
TEST(IoAllocateIrpSignalEventInCompletion, Kept_IsNotReported) {
    EXPECT_EQ(waiting_originator(allocate, keep_and_wake), "");
    EXPECT_EQ(waiting_originator(allocate, free_and_wake), "");
}
TEST(IoBuildFsdIrpSignalEventInCompletion, Broken_IsReported) {
    EXPECT_EQ(waiting_originator(build, keep), "IoBuildFsdIrpSignalEventInCompletion");
    EXPECT_EQ(waiting_originator(build, free_and_keep), "IoBuildFsdIrpSignalEventInCompletion");
}
TEST(IoBuildFsdIrpSignalEventInCompletion, Kept_IsNotReported) {
    EXPECT_EQ(waiting_originator(build, keep_and_wake), "");
    EXPECT_EQ(waiting_originator(build, free_and_wake), "");
}

enum class kind { control, flush };
enum class care { none, waits };

/// A dispatch routine that sends a request on its stack to the device below.
std::string asks_below(kind what, care taken, bool completed) {
    return campaign([=](sim_machine& sim) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            KEVENT done;
            IO_STATUS_BLOCK status{};
            LARGE_INTEGER offset{};
            KeInitializeEvent(&done, NotificationEvent, FALSE);
            IRP* own = what == kind::control
                           ? IoBuildDeviceIoControlRequest(0, below.device(), nullptr, 0, nullptr,
                                                           0, FALSE, &done, &status)
                           : IoBuildSynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, below.device(),
                                                          nullptr, 0, &offset, &done, &status);
            const NTSTATUS sent = IoCallDriver(below.device(), own);
            if (sent == STATUS_PENDING && taken == care::waits) wait_for(done);
            return complete(irp, STATUS_SUCCESS);
        });
        request asked;
        sim.spawn("send", [&] { asked.send(driver); });
        if (completed)
            sim.spawn("complete", [&] {
                while (taken == care::none && asked.completions() == 0)
                    // otherwise it would write to a dead stack frame, and the report would come too
                    // late
                    sim.yield();
                complete_pending(sim, pended);
            });
        sim.run();
    });
}
TEST(IoBuildDeviceControlWait, Broken_IsReported) {
    EXPECT_EQ(asks_below(kind::control, care::none, true), "IoBuildDeviceControlWait");
}
TEST(IoBuildDeviceControlWait, Kept_IsNotReported) {
    EXPECT_EQ(asks_below(kind::control, care::waits, true), "");
}
TEST(IoBuildSynchronousFsdRequestWait, Broken_IsReported) {
    EXPECT_EQ(asks_below(kind::flush, care::none, true), "IoBuildSynchronousFsdRequestWait");
}
TEST(IoBuildSynchronousFsdRequestWait, Kept_IsNotReported) {
    EXPECT_EQ(asks_below(kind::flush, care::waits, true), "");
}
TEST(IoBuildDeviceControlWaitTimeout, Broken_IsReported) {
    EXPECT_EQ(asks_below(kind::control, care::waits, false), "IoBuildDeviceControlWaitTimeout");
}
TEST(IoBuildDeviceControlWaitTimeout, Kept_IsNotReported) {
    EXPECT_EQ(asks_below(kind::control, care::waits, true), "");
}
TEST(IoBuildSynchronousFsdRequestWaitTimeout, Broken_IsReported) {
    EXPECT_EQ(asks_below(kind::flush, care::waits, false),
              "IoBuildSynchronousFsdRequestWaitTimeout");
}
TEST(IoBuildSynchronousFsdRequestWaitTimeout, Kept_IsNotReported) {
    EXPECT_EQ(asks_below(kind::flush, care::waits, true), "");
}

} // namespace
