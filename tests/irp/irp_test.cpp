// An IRP's life: its fields when new, its way down and up the stack, and the reports of misuse.
#include <dispatch/support/sanitizers.hpp>
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/irp_stack.hpp>

#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>

namespace {

using namespace irpverbs::testing;

class IrpLifetime : public BothMachines {};

void expect_new(const IRP* irp, CCHAR locations) {
    EXPECT_EQ(irp->Size, IoSizeOfIrp(static_cast<std::size_t>(locations)));
    EXPECT_EQ(irp->StackCount, locations);
    EXPECT_EQ(irp->CurrentLocation, locations + 1);
    EXPECT_EQ(irp->Flags, 0u);
    EXPECT_EQ(irp->MdlAddress, nullptr);
    EXPECT_EQ(irp->AssociatedIrp.SystemBuffer, nullptr);
    EXPECT_EQ(irp->IoStatus.Information, 0u);
    EXPECT_FALSE(irp->PendingReturned);
    EXPECT_FALSE(irp->Cancel);
    EXPECT_EQ(irp->CancelRoutine, nullptr);
    EXPECT_EQ(irp->UserIosb, nullptr);
    EXPECT_EQ(irp->UserEvent, nullptr);
    EXPECT_EQ(irp->UserBuffer, nullptr);
    EXPECT_EQ(irp->Tail.Overlay.DriverContext[3], nullptr);
    const auto* bytes = reinterpret_cast<const char*>(irp + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(locations) * sizeof(IO_STACK_LOCATION);
         ++i)
        EXPECT_EQ(bytes[i], 0);
}

TEST_P(IrpLifetime, IoSizeOfIrp_IsHeaderPlusLocations) {
    EXPECT_EQ(IoSizeOfIrp(1), 128 + 64);
    EXPECT_EQ(IoSizeOfIrp(5), 128 + 5 * 64);
}

TEST_P(IrpLifetime, IoAllocateIrp_ReturnsClearedIrp) {
    for (const CCHAR locations : std::initializer_list<CCHAR>{1, 2, 8, 9, 40}) {
        IRP* irp = IoAllocateIrp(locations, FALSE);
        ASSERT_NE(irp, nullptr);
        expect_new(irp, locations);
        EXPECT_EQ(irp->IoStatus.Status, STATUS_SUCCESS);
        std::memset(static_cast<void*>(IoGetNextIrpStackLocation(irp)), 0xff,
                    sizeof(IO_STACK_LOCATION));
        IoFreeIrp(irp);
        irp = IoAllocateIrp(locations, FALSE); // likely the same memory
        expect_new(irp, locations);
        IoFreeIrp(irp);
    }
}

TEST_P(IrpLifetime, AllocateWithInvalidStackSize_ReturnsNull) {
    EXPECT_EQ(IoAllocateIrp(0, FALSE), nullptr);
    EXPECT_EQ(IoAllocateIrp(-1, FALSE), nullptr);
    EXPECT_EQ(IoAllocateIrp(std::numeric_limits<CCHAR>::max(), FALSE), nullptr);
}

TEST_P(IrpLifetime, IoInitializeIrp_WorksInCallerMemory) {
    alignas(64) std::array<std::byte, IoSizeOfIrp(3)> memory{};
    memory.fill(std::byte{0xee});
    auto* irp = reinterpret_cast<IRP*>(memory.data());
    IoInitializeIrp(irp, memory.size(), 3);
    expect_new(irp, 3);
    NTSTATUS return_status = STATUS_SUCCESS;
    test_driver bottom(complete_at_once, &return_status);
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_SUCCESS); // not freed at the end
    EXPECT_EQ(irp->CurrentLocation, 4);
}

TEST_P(IrpLifetime, IoReuseIrp_ReinitializesAndSetsStatus) {
    test_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = recorded_request(bottom.device, result);
    IoCallDriver(bottom.device, irp);
    IoCancelIrp(irp);
    IoReuseIrp(irp, STATUS_UNSUCCESSFUL);
    expect_new(irp, 1);
    EXPECT_EQ(irp->IoStatus.Status, STATUS_UNSUCCESSFUL);
    IoFreeIrp(irp);
}

TEST_P(IrpLifetime, SeveralStackLocations_UsedFromTheTopDown) {
    IRP* irp = IoAllocateIrp(3, FALSE);
    auto* first = reinterpret_cast<IO_STACK_LOCATION*>(irp + 1);
    EXPECT_EQ(IoGetNextIrpStackLocation(irp), first + 2);
    IoSetNextIrpStackLocation(irp);
    EXPECT_EQ(IoGetCurrentIrpStackLocation(irp), first + 2);
    EXPECT_EQ(IoGetNextIrpStackLocation(irp), first + 1);
    IoSkipCurrentIrpStackLocation(irp);
    EXPECT_EQ(irp->CurrentLocation, 4);
    IoFreeIrp(irp);
}

TEST_P(IrpLifetime, IoCopyCurrentIrpStackLocationToNext_OmitsRoutineAndControl) {
    IRP* irp = IoAllocateIrp(2, FALSE);
    outcome result;
    IoSetCompletionRoutine(irp, record_outcome, &result, TRUE, FALSE, TRUE);
    IO_STACK_LOCATION* mine = IoGetNextIrpStackLocation(irp);
    mine->MajorFunction = IRP_MJ_READ;
    mine->MinorFunction = 3;
    mine->Parameters.Read.Length = 12;
    EXPECT_EQ(mine->Control, SL_INVOKE_ON_SUCCESS | SL_INVOKE_ON_CANCEL);
    IoSetNextIrpStackLocation(irp);
    IoMarkIrpPending(irp);
    EXPECT_EQ(mine->Control, SL_INVOKE_ON_SUCCESS | SL_INVOKE_ON_CANCEL | SL_PENDING_RETURNED);
    IoCopyCurrentIrpStackLocationToNext(irp);
    const IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    EXPECT_EQ(next->MajorFunction, IRP_MJ_READ);
    EXPECT_EQ(next->MinorFunction, 3);
    EXPECT_EQ(next->Parameters.Read.Length, 12u);
    EXPECT_EQ(next->Control, 0);
    EXPECT_EQ(next->CompletionRoutine, nullptr);
    IoFreeIrp(irp);
}

TEST_P(IrpLifetime, IoCallDriver_PassesDeviceAndLocation) {
    test_driver bottom([](DEVICE_OBJECT* device, IRP* irp) {
        const IO_STACK_LOCATION* mine = IoGetCurrentIrpStackLocation(irp);
        EXPECT_EQ(mine->DeviceObject, device);
        EXPECT_EQ(mine->MajorFunction, IRP_MJ_INTERNAL_DEVICE_CONTROL);
        EXPECT_EQ(irp->CurrentLocation, 1);
        return complete(irp, STATUS_TIMEOUT, 42);
    });
    outcome result;
    IRP* irp = recorded_request(bottom.device, result);
    EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_TIMEOUT);
    EXPECT_EQ(result.completions, 1);
    EXPECT_EQ(result.status, STATUS_TIMEOUT);
    EXPECT_EQ(result.information, 42u);
    EXPECT_EQ(result.device, nullptr); // the originator has no location in the stack
    EXPECT_FALSE(result.pending_returned);
    EXPECT_EQ(irp->CurrentLocation, 2);
    IoFreeIrp(irp);
}

TEST_P(IrpLifetime, MissingMajorFunction_CompletesInvalidDeviceRequest) {
    test_driver bottom(complete_at_once);
    bottom.driver.MajorFunction[IRP_MJ_READ] = nullptr;
    for (const UCHAR major : {UCHAR{IRP_MJ_READ}, UCHAR{IRP_MJ_MAXIMUM_FUNCTION + 1}}) {
        outcome result;
        IRP* irp = recorded_request(bottom.device, result);
        IoGetNextIrpStackLocation(irp)->MajorFunction = major;
        EXPECT_EQ(IoCallDriver(bottom.device, irp), STATUS_INVALID_DEVICE_REQUEST);
        EXPECT_EQ(result.status, STATUS_INVALID_DEVICE_REQUEST);
        EXPECT_EQ(result.completions, 1);
        IoFreeIrp(irp);
    }
}

// Conditions of a completion routine: every combination of its InvokeOn flags and the IRP's end.
TEST_P(IrpLifetime, InvokeOnFlags_SelectCompletionRoutine) {
    constexpr NTSTATUS ends[] = {STATUS_SUCCESS, STATUS_TIMEOUT, STATUS_BUFFER_OVERFLOW,
                                 STATUS_IO_DEVICE_ERROR};
    for (int asked = 0; asked < 8; ++asked)
        for (const NTSTATUS end : ends)
            for (const bool cancelled : {false, true}) {
                const bool on_success = (asked & 1) != 0;
                const bool on_error = (asked & 2) != 0;
                const bool on_cancel = (asked & 4) != 0;
                NTSTATUS return_status = end;
                test_driver bottom(complete_at_once, &return_status);
                outcome last;
                outcome result;
                result.return_status = STATUS_CONTINUE_COMPLETION;
                test_driver top(forward, bottom);
                IRP* irp = IoAllocateIrp(3, FALSE);
                // The originator has a location of its own, so that the IRP always returns to it.
                IoSetCompletionRoutine(irp, record_outcome, &last, TRUE, TRUE, TRUE);
                IoSetNextIrpStackLocation(irp);
                IoSetCompletionRoutine(irp, record_outcome, &result, on_success, on_error,
                                       on_cancel);
                if (cancelled) IoCancelIrp(irp);
                IoCallDriver(top.device, irp);
                const bool expected =
                    (NT_SUCCESS(end) ? on_success : on_error) || (cancelled && on_cancel);
                EXPECT_EQ(result.completions, expected ? 1 : 0)
                    << "asked " << asked << " status " << end << " cancelled " << cancelled;
                EXPECT_EQ(last.completions, 1);
                IoFreeIrp(irp);
            }
}

struct filter_routine {
    bool set = true;
    bool passes_mark_on = true;
    bool called = false;
    BOOLEAN pending_returned = FALSE;
    UCHAR control = 0xff;
    DEVICE_OBJECT* device = nullptr;
    NTSTATUS return_status = STATUS_CONTINUE_COMPLETION;
};

NTSTATUS filter_done(DEVICE_OBJECT* device, IRP* irp, void* context) {
    auto& self = *static_cast<filter_routine*>(context);
    self.called = true;
    self.pending_returned = irp->PendingReturned;
    self.control = IoGetNextIrpStackLocation(irp)->Control;
    self.device = device;
    if (self.return_status == STATUS_MORE_PROCESSING_REQUIRED) return self.return_status;
    if (irp->PendingReturned && self.passes_mark_on) IoMarkIrpPending(irp);
    return self.return_status;
}

NTSTATUS filter(DEVICE_OBJECT* device, IRP* irp) {
    auto& self = test_driver::context_of<filter_routine>(device);
    IoCopyCurrentIrpStackLocationToNext(irp);
    if (self.set) IoSetCompletionRoutine(irp, filter_done, &self, TRUE, TRUE, TRUE);
    return IoCallDriver(device->AttachedTo, irp);
}

struct two_levels {
    IRP* pended = nullptr;
    filter_routine routine;
    test_driver bottom{pend, &pended};
    test_driver top{filter, bottom, &routine};
    outcome result;
    IRP* irp = recorded_request(top.device, result);

    two_levels() = default;
    ~two_levels() { IoFreeIrp(irp); }
    two_levels(const two_levels&) = delete;
    two_levels& operator=(const two_levels&) = delete;
};

// The bottom driver's pending mark reaches the originator through a filter: by itself when the
// filter has no routine, else only if the routine passes it on.
TEST_P(IrpLifetime, PendedBelowFilter_MarkPropagatesUnlessRoutineOmitsIt) {
    struct {
        bool routine, passes_on, arrives;
    } const cases[] = {{false, false, true}, {true, true, true}, {true, false, false}};
    for (const auto& each : cases) {
        two_levels stack;
        stack.routine.set = each.routine;
        stack.routine.passes_mark_on = each.passes_on;
        EXPECT_EQ(IoCallDriver(stack.top.device, stack.irp), STATUS_PENDING);
        EXPECT_EQ(stack.result.completions, 0);
        complete(stack.pended, STATUS_SUCCESS);
        EXPECT_EQ(stack.result.completions, 1);
        EXPECT_EQ(stack.routine.called, each.routine);
        EXPECT_EQ(stack.result.pending_returned != FALSE, each.arrives);
        if (each.routine) {
            EXPECT_TRUE(stack.routine.pending_returned);
            EXPECT_EQ(stack.routine.device, stack.top.device);
        }
    }
}

// Tests that a routine that is set but not invoked does not stop the mark either.
TEST_P(IrpLifetime, CompletionRoutineNotInvoked_PendingMarkPropagates) {
    two_levels stack;
    stack.routine.set = false;
    stack.top.driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = [](DEVICE_OBJECT* device,
                                                                        IRP* irp) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, filter_done, test_driver::of(device).context, FALSE, TRUE,
                               FALSE);
        return IoCallDriver(device->AttachedTo, irp);
    };
    IoCallDriver(stack.top.device, stack.irp);
    complete(stack.pended, STATUS_SUCCESS);
    EXPECT_FALSE(stack.routine.called);
    EXPECT_TRUE(stack.result.pending_returned);
}

// Tests that completed locations are cleared but marked when the status is an error.
TEST_P(IrpLifetime, ErrorStatus_MarksCompletedLocations) {
    for (const NTSTATUS end : {STATUS_SUCCESS, STATUS_IO_DEVICE_ERROR}) {
        two_levels stack;
        IoCallDriver(stack.top.device, stack.irp);
        complete(stack.pended, end);
        EXPECT_EQ(stack.routine.control, NT_SUCCESS(end) ? 0 : SL_ERROR_RETURNED);
        const auto* locations = reinterpret_cast<const IO_STACK_LOCATION*>(stack.irp + 1);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(locations[i].Control & SL_ERROR_RETURNED,
                      NT_SUCCESS(end) ? 0 : SL_ERROR_RETURNED);
            EXPECT_EQ(locations[i].CompletionRoutine, nullptr);
        }
    }
}

// Tests that completion stops where a routine returns STATUS_MORE_PROCESSING_REQUIRED, and
// continues when its driver completes the IRP.
TEST_P(IrpLifetime, MoreProcessingRequired_StopsUntilCompletedAgain) {
    two_levels stack;
    stack.routine.return_status = STATUS_MORE_PROCESSING_REQUIRED;
    IoCallDriver(stack.top.device, stack.irp);
    complete(stack.pended, STATUS_SUCCESS, 5);
    EXPECT_TRUE(stack.routine.called);
    EXPECT_EQ(stack.result.completions, 0);
    EXPECT_EQ(stack.irp->CurrentLocation, 2); // the filter's own location again
    complete(stack.irp, STATUS_IO_DEVICE_ERROR, 6);
    EXPECT_EQ(stack.result.completions, 1);
    EXPECT_EQ(stack.result.status, STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(stack.result.information, 6u);
}

TEST_P(IrpLifetime, IrpReclaimedByRoutine_CanBeSentAgain) {
    two_levels stack;
    stack.routine.return_status = STATUS_MORE_PROCESSING_REQUIRED;
    IoCallDriver(stack.top.device, stack.irp);
    complete(stack.pended, STATUS_DEVICE_NOT_READY);
    stack.routine.return_status = STATUS_CONTINUE_COMPLETION;
    EXPECT_EQ(filter(stack.top.device, stack.irp), STATUS_PENDING);
    complete(stack.pended, STATUS_SUCCESS);
    EXPECT_EQ(stack.result.completions, 1);
    EXPECT_EQ(stack.result.status, STATUS_SUCCESS);
}

// Tests that an IRP without an originator's routine is freed (a sanitizer reports leaks), also when
// locations are skipped.
TEST_P(IrpLifetime, NoOriginatorRoutine_IrpIsFreed) {
    test_driver bottom(complete_at_once);
    test_driver top(
        [](DEVICE_OBJECT* device, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver(device->AttachedTo, irp);
        },
        bottom);
    EXPECT_EQ(IoCallDriver(top.device, IoAllocateIrp(top.device->StackSize, FALSE)),
              STATUS_SUCCESS);
}

// IoSetCompletionRoutineEx: the same conditions, and the device is referenced until the IRP has
// passed.
TEST_P(IrpLifetime, IoSetCompletionRoutineEx_ReferencesDevice) {
    for (const NTSTATUS end : {STATUS_SUCCESS, STATUS_IO_DEVICE_ERROR}) {
        IRP* pended = nullptr;
        test_driver bottom(pend, &pended);
        test_driver other(complete_at_once);
        outcome result;
        IRP* irp = recorded_request(bottom.device, result);
        EXPECT_EQ(IoSetCompletionRoutineEx(other.device, irp, record_outcome, &result, TRUE, FALSE,
                                           FALSE),
                  STATUS_SUCCESS);
        irp->UserIosb = nullptr;
        EXPECT_EQ(other.device->Header.ReferenceCount, 2);
        IoCallDriver(bottom.device, irp);
        complete(pended, end); // without a routine for errors the IRP passes and is freed
        EXPECT_EQ(result.completions, NT_SUCCESS(end) ? 1 : 0);
        EXPECT_EQ(other.device->Header.ReferenceCount, 1);
        if (NT_SUCCESS(end)) IoFreeIrp(irp);
    }
}

#if IRPVERBS_ADDRESS_SANITIZER
// A freed IRP's memory waits on its processor for the next IoAllocateIrp; AddressSanitizer guards
// it.
TEST_P(IrpLifetime, IoFreeIrp_WithoutTheVerifier_PoisonsThePacket) {
    IRP* irp = IoAllocateIrp(2, FALSE);
    IoFreeIrp(irp);
    EXPECT_DEATH(irp->IoStatus.Information = 1, "use-after-poison");
    EXPECT_DEATH(IoGetNextIrpStackLocation(irp)->Control = 1, "use-after-poison");
    IRP* again = IoAllocateIrp(2, FALSE);
    EXPECT_EQ(again, irp);
    again->IoStatus.Information = 1;
    IoFreeIrp(again);
}
#endif

TEST_P(IrpLifetime, EachMisuse_BugChecks) {
    test_driver bottom(complete_at_once);
    outcome result;
    IRP* irp = recorded_request(bottom.device, result);
    auto report = report_of([&] { IoCallDriver(nullptr, irp); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x204u); // a null device

    IoCallDriver(bottom.device, irp);
    EXPECT_EQ(bug_check_of([&] { IoCompleteRequest(irp, 0); }), MULTIPLE_IRP_COMPLETE_REQUESTS);

    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetNextIrpStackLocation(irp);
    EXPECT_EQ(bug_check_of([&] { IoCallDriver(bottom.device, irp); }), NO_MORE_IRP_STACK_LOCATIONS);
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetNextIrpStackLocation(irp);
    EXPECT_EQ(bug_check_of([&] { IoSetNextIrpStackLocation(irp); }), NO_MORE_IRP_STACK_LOCATIONS);

    for (const NTSTATUS status : {STATUS_PENDING, -1}) {
        IoReuseIrp(irp, status);
        IoSetNextIrpStackLocation(irp);
        report = report_of([&] { IoCompleteRequest(irp, 0); });
        ASSERT_TRUE(report);
        EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
        EXPECT_EQ(report->id, 0x06u);
    }
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoFreeIrp(irp);
}

TEST_P(IrpLifetime, IoInitializeIrpSizeTooSmall_IsReported) {
    alignas(64) std::array<std::byte, IoSizeOfIrp(2)> memory{};
    auto* irp = reinterpret_cast<IRP*>(memory.data());
    const auto report = report_of([&] { IoInitializeIrp(irp, IoSizeOfIrp(1), 2); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x20Du);
}

IRPVERBS_ON_BOTH_MACHINES(IrpLifetime);

} // namespace
