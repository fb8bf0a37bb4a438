// Cancellation: which call runs the cancel routine, when, and how often.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/irp_stack.hpp>

namespace {

using namespace irpverbs::testing;

struct cancelled {
    int calls = 0;
    DEVICE_OBJECT* device = nullptr;
    KIRQL level = PASSIVE_LEVEL;
    BOOLEAN flag = FALSE;
};
cancelled last_cancel; // a cancel routine has no context

void cancel_and_complete(DEVICE_OBJECT* device, IRP* irp) {
    ++last_cancel.calls;
    last_cancel.device = device;
    last_cancel.level = KeGetCurrentIrql();
    last_cancel.flag = irp->Cancel;
    EXPECT_EQ(irp->CancelRoutine, nullptr);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    complete(irp, STATUS_CANCELLED);
}

NTSTATUS pend_cancelable(DEVICE_OBJECT* device, IRP* irp) {
    test_driver::context_of<IRP*>(device) = irp;
    IoMarkIrpPending(irp);
    EXPECT_EQ(IoSetCancelRoutine(irp, cancel_and_complete), nullptr);
    return STATUS_PENDING;
}

class CancelIrp : public BothMachines {
protected:
    CancelIrp() { last_cancel = {}; }
    ~CancelIrp() override { IoFreeIrp(irp); }

    IRP* pended = nullptr;
    test_driver bottom{pend_cancelable, &pended};
    outcome result;
    IRP* irp = recorded_request(bottom.device, result);
};

TEST_P(CancelIrp, NoCancelRoutine_ReturnsFalseAndSetsCancel) {
    EXPECT_FALSE(IoCancelIrp(irp));
    EXPECT_TRUE(irp->Cancel);
    EXPECT_FALSE(IoCancelIrp(irp));
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(CancelIrp, CancelRoutineSet_IsCalledOnceWithLockHeld) {
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_PENDING);
    EXPECT_TRUE(IoCancelIrp(irp));
    EXPECT_EQ(last_cancel.calls, 1);
    EXPECT_EQ(last_cancel.device, bottom.device);
    EXPECT_EQ(last_cancel.level, DISPATCH_LEVEL);
    EXPECT_TRUE(last_cancel.flag);
    EXPECT_EQ(result.status, STATUS_CANCELLED);
    EXPECT_FALSE(IoCancelIrp(irp));
    EXPECT_EQ(last_cancel.calls, 1);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

// Tests that CancelIrql is the canceller's level.
TEST_P(CancelIrp, CancelAtDispatchLevel_RestoresCallerIrql) {
    IoCallDriver(bottom.device, irp);
    const at_dispatch_level raised;
    EXPECT_TRUE(IoCancelIrp(irp));
    EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
}

TEST_P(CancelIrp, CancelRoutineCleared_IsNotCalled) {
    IoCallDriver(bottom.device, irp);
    EXPECT_EQ(IoSetCancelRoutine(irp, nullptr), cancel_and_complete);
    EXPECT_EQ(IoSetCancelRoutine(irp, nullptr), nullptr); // only one caller gets it
    EXPECT_FALSE(IoCancelIrp(irp));
    complete(pended, STATUS_SUCCESS); // an available result wins
    EXPECT_EQ(result.status, STATUS_SUCCESS);
    EXPECT_EQ(last_cancel.calls, 0);
}

TEST_P(CancelIrp, CompleteWithCancelRoutineSet_IsReported) {
    IoCallDriver(bottom.device, irp);
    const auto report = report_of([&] { complete(pended, STATUS_SUCCESS); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x07u);
    IoCancelIrp(irp);
}

TEST_P(CancelIrp, FreePendingIrp_IsReported) {
    IoCallDriver(bottom.device, irp);
    const auto report = report_of([&] { IoFreeIrp(irp); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x20Au);
    IoCancelIrp(irp);
}

TEST_P(CancelIrp, CancelRoutineInCompletedIrp_BugChecks) {
    IoSetCancelRoutine(irp, cancel_and_complete); // it is not sent to any driver
    EXPECT_EQ(bug_check_of([&] { IoCancelIrp(irp); }), CANCEL_STATE_IN_COMPLETED_IRP);
    IoReleaseCancelSpinLock(PASSIVE_LEVEL); // the canceller did not return to do it
}

// Two machines of one process share no cancel spin lock: a holder on one does not block the other.
TEST_P(CancelIrp, TwoMachines_HaveSeparateCancelSpinLocks) {
    KIRQL here = PASSIVE_LEVEL;
    IoAcquireCancelSpinLock(&here);
    {
        irpverbs::dispatch::asio_machine other({.processors = 1});
        const irpverbs::dispatch::machine::scope inside(other);
        KIRQL there = PASSIVE_LEVEL;
        IoAcquireCancelSpinLock(&there);
        IoReleaseCancelSpinLock(there);
    }
    IoReleaseCancelSpinLock(here);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

IRPVERBS_ON_BOTH_MACHINES(CancelIrp);

} // namespace
