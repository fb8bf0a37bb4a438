#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <vector>

namespace {

struct bottom_driver {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;

    explicit bottom_driver(PDRIVER_DISPATCH dispatch) {
        driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        EXPECT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
                  STATUS_SUCCESS);
    }
    ~bottom_driver() { IoDeleteDevice(device); }
};

struct outcome {
    int completions = 0;
    NTSTATUS status = STATUS_UNSUCCESSFUL;
    ULONG_PTR information = 0;
    BOOLEAN pending_returned = FALSE;
};

NTSTATUS note_outcome(DEVICE_OBJECT* device, IRP* irp, void* context) {
    auto& result = *static_cast<outcome*>(context);
    EXPECT_EQ(device, nullptr); // the originator has no device in the stack
    ++result.completions;
    result.status = irp->IoStatus.Status;
    result.information = irp->IoStatus.Information;
    result.pending_returned = irp->PendingReturned;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

IRP* request(CCHAR depth, outcome& result) {
    IRP* irp = IoAllocateIrp(depth, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, note_outcome, &result, TRUE, TRUE, TRUE);
    return irp;
}

NTSTATUS complete_at_once(DEVICE_OBJECT*, IRP* irp) {
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = 42;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

IRP* parked = nullptr;
NTSTATUS park(DEVICE_OBJECT*, IRP* irp) {
    IoMarkIrpPending(irp);
    parked = irp;
    return STATUS_PENDING;
}

NTSTATUS pass_down(DEVICE_OBJECT* device, IRP* irp) {
    IoCopyCurrentIrpStackLocationToNext(irp);
    return IoCallDriver(device->AttachedTo, irp);
}

[[noreturn]] void throw_code(const BUG_CHECK_REPORT* report, void*) { throw report->Code; }

template <class Function>
ULONG bug_check_of(Function function) {
    const BUG_CHECK_HANDLER before = KeSetBugCheckHandler(throw_code, nullptr, nullptr);
    ULONG code = 0;
    try {
        function();
    } catch (ULONG thrown) {
        code = thrown;
    }
    KeSetBugCheckHandler(before, nullptr, nullptr);
    return code;
}

// Tests that an IRP completed inline comes home before IoCallDriver returns, with its results.
TEST(Irp, CompletesInline) {
    bottom_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = request(1, result);
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_SUCCESS);
    EXPECT_EQ(result.completions, 1);
    EXPECT_EQ(result.information, 42u);
    EXPECT_FALSE(result.pending_returned);
    IoFreeIrp(irp);
}

// Tests that the mark of a lower driver reaches the originator through a filter without a routine.
TEST(Irp, PendingTravelsUpThroughAFilter) {
    bottom_driver bottom(park);
    bottom_driver filter(pass_down);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(filter.device, bottom.device), bottom.device);
    outcome result;
    IRP* irp = request(filter.device->StackSize, result);
    EXPECT_EQ(IoCallDriver(filter.device, irp), STATUS_PENDING);
    EXPECT_EQ(result.completions, 0);
    parked->IoStatus.Status = STATUS_SUCCESS;
    IoCompleteRequest(parked, IO_NO_INCREMENT);
    EXPECT_EQ(result.completions, 1);
    EXPECT_TRUE(result.pending_returned);
    IoFreeIrp(irp);
    IoDetachDevice(bottom.device);
}

// Tests that a major function that the driver does not have is answered, and the IRP completed.
TEST(Irp, UnknownMajorFunctionIsCompleted) {
    bottom_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = request(1, result);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(result.status, STATUS_INVALID_DEVICE_REQUEST);
    IoFreeIrp(irp);
}

// Tests that IoReuseIrp makes an IRP as new, with the status given.
TEST(Irp, ReuseMakesItNew) {
    bottom_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = request(1, result);
    IoCallDriver(bottom.device, irp);
    IoReuseIrp(irp, STATUS_UNSUCCESSFUL);
    EXPECT_EQ(irp->IoStatus.Status, STATUS_UNSUCCESSFUL);
    EXPECT_EQ(irp->CurrentLocation, irp->StackCount + 1);
    IoFreeIrp(irp);
}

// Tests that each misuse of an IRP is reported under Windows' own number.
TEST(Irp, MisuseHasItsBugCheck) {
    bottom_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = request(1, result);
    EXPECT_EQ(bug_check_of([&] { IoCallDriver(nullptr, irp); }),
              DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    IoCallDriver(bottom.device, irp);
    EXPECT_EQ(bug_check_of([&] { IoCompleteRequest(irp, 0); }), MULTIPLE_IRP_COMPLETE_REQUESTS);
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetNextIrpStackLocation(irp);
    EXPECT_EQ(bug_check_of([&] { IoCallDriver(bottom.device, irp); }), NO_MORE_IRP_STACK_LOCATIONS);
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetNextIrpStackLocation(irp);
    irp->IoStatus.Status = STATUS_PENDING;
    EXPECT_EQ(bug_check_of([&] { IoCompleteRequest(irp, 0); }),
              DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoFreeIrp(irp);
}

} // namespace
