// Drivers, devices, and stacks of devices.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/irp_stack.hpp>

#include <dispatch/testing/explore.hpp>
#include <irp/verifier.hpp>

#include <functional>
#include <iterator>

namespace {

using namespace irpverbs::testing;

class Device : public BothMachines {};

TEST_P(Device, IoCreateDevice_FillsFields) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    EXPECT_EQ(IoCreateDevice(&driver, 40, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(device->DriverObject, &driver);
    EXPECT_EQ(device->DeviceType, ULONG{FILE_DEVICE_UNKNOWN});
    EXPECT_EQ(device->Type, 3); // a device
    EXPECT_EQ(device->Size, sizeof(DEVICE_OBJECT) + 40);
    EXPECT_EQ(device->StackSize, 1);
    EXPECT_EQ(device->AttachedDevice, nullptr);
    EXPECT_EQ(device->CurrentIrp, nullptr);
    EXPECT_FALSE(device->DeviceQueue.Busy);
    EXPECT_TRUE(device->Flags & DO_DEVICE_INITIALIZING);
    const auto* extension = static_cast<const char*>(device->DeviceExtension);
    for (int i = 0; i < 40; ++i)
        EXPECT_EQ(extension[i], 0);
    EXPECT_EQ(reinterpret_cast<ULONG_PTR>(extension) % 16, 0u);
    IoDeleteDevice(device);
}

TEST_P(Device, SeveralDevices_AreLinkedInDriverObject) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* devices[3] = {};
    for (DEVICE_OBJECT*& each : devices)
        IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &each);
    EXPECT_EQ(driver.DeviceObject, devices[2]);
    EXPECT_EQ(devices[2]->NextDevice, devices[1]);
    IoDeleteDevice(devices[1]);
    EXPECT_EQ(devices[2]->NextDevice, devices[0]);
    IoDeleteDevice(devices[2]);
    IoDeleteDevice(devices[0]);
    EXPECT_EQ(driver.DeviceObject, nullptr);
}

TEST_P(Device, AttachToStack_AttachesAboveTopDevice) {
    test_driver bottom(complete_at_once);
    test_driver middle(forward, bottom);
    test_driver top(forward);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, bottom.device), middle.device);
    EXPECT_EQ(top.device->StackSize, 3);
    EXPECT_EQ(top.device->AttachedTo, middle.device);
    EXPECT_EQ(middle.device->AttachedDevice, top.device);
    EXPECT_EQ(IoGetAttachedDevice(bottom.device), top.device);
    EXPECT_EQ(IoGetAttachedDevice(top.device), top.device);
    outcome result;
    IRP* irp = recorded_request(top.device, result);
    EXPECT_EQ(IoCallDriver(top.device, irp), STATUS_SUCCESS);
    EXPECT_EQ(result.completions, 1);
    IoFreeIrp(irp);
}

TEST_P(Device, IoDetachDevice_DetachesUpperDevice) {
    test_driver bottom(complete_at_once);
    test_driver top(forward, bottom);
    IoDetachDevice(bottom.device);
    EXPECT_EQ(IoGetAttachedDevice(bottom.device), bottom.device);
    EXPECT_EQ(top.device->AttachedTo, nullptr);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, bottom.device), bottom.device);
}

TEST_P(Device, TopDeviceReferenced_OutlivesDelete) {
    test_driver bottom(complete_at_once);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* top = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &top);
    IoAttachDeviceToDeviceStack(top, bottom.device);
    EXPECT_EQ(IoGetAttachedDeviceReference(bottom.device), top);
    IoDetachDevice(bottom.device);
    IoDeleteDevice(top);
    EXPECT_EQ(top->Header.ReferenceCount, 1); // still allocated
    ObDereferenceObject(top);
}

TEST_P(Device, ObDereferenceObject_OfIoGetAttachedDeviceReference_ChangesNothingElse) {
    test_driver bottom(complete_at_once);
    bottom.device->Flags = 0;
    PDEVICE_OBJECT top = IoGetAttachedDeviceReference(bottom.device);
    ObDereferenceObject(top);
    EXPECT_EQ(top->Flags, 0u);
    ObReferenceObject(top);
    ObDereferenceObject(top);
    outcome result;
    IRP* irp = recorded_request(top, result);
    EXPECT_EQ(IoCallDriver(top, irp), STATUS_SUCCESS);
    IoFreeIrp(irp);
}

TEST_P(Device, ObReferenceObject_OfADriver_LeavesItsDispatchRoutines) {
    test_driver only(complete_at_once);
    const PDRIVER_DISPATCH before = only.driver.MajorFunction[0];
    ObReferenceObject(&only.driver);
    EXPECT_EQ(only.driver.MajorFunction[0], before);
    ObDereferenceObject(&only.driver);
    EXPECT_EQ(only.driver.MajorFunction[0], before);
}

TEST_P(Device, ObDereferenceObject_WithoutAReference_IsABugCheck) {
    test_driver only(complete_at_once);
    EXPECT_EQ(bug_check_of([&] { ObDereferenceObject(only.device); }), ULONG{REFERENCE_BY_POINTER});
    EXPECT_EQ(bug_check_of([&] { ObDereferenceObject(&only.driver); }),
              ULONG{REFERENCE_BY_POINTER});
    outcome result;
    IRP* irp = recorded_request(only.device, result);
    EXPECT_EQ(IoCallDriver(only.device, irp), STATUS_SUCCESS);
    IoFreeIrp(irp);
}

TEST_P(Device, ObReferenceObject_OfWhatIsNoObject_IsABugCheck) {
    DRIVER_OBJECT of_no_device{};
    IRP* irp = IoAllocateIrp(1, FALSE);
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    for (PVOID foreign : {PVOID{irp}, PVOID{&event}, PVOID{&of_no_device}, PVOID{}}) {
        EXPECT_EQ(bug_check_of([&] { ObReferenceObject(foreign); }), ULONG{REFERENCE_BY_POINTER});
        EXPECT_EQ(bug_check_of([&] { ObDereferenceObject(foreign); }), ULONG{REFERENCE_BY_POINTER});
    }
    IoFreeIrp(irp);
}

TEST_P(Device, KeWaitForSingleObject_OnADevice_IsABugCheck) {
    test_driver only(complete_at_once);
    EXPECT_EQ(bug_check_of([&] {
                  KeWaitForSingleObject(only.device, Executive, KernelMode, FALSE, nullptr);
              }),
              ULONG{INVALID_DATA_ACCESS_TRAP});
}

TEST_P(Device, AttachToDeletedDevice_ReturnsNull) {
    test_driver top(forward);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* gone = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &gone);
    ObReferenceObject(gone);
    IoDeleteDevice(gone);
    EXPECT_EQ(IoAttachDeviceToDeviceStack(top.device, gone), nullptr);
    ObDereferenceObject(gone);
}

TEST_P(Device, EachFunction_OfANullDevice_IsABugCheck) {
    test_driver only(complete_at_once);
    DEVICE_OBJECT* made = nullptr;
    const std::function<void()> calls[] = {
        [&] { IoCreateDevice(nullptr, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &made); },
        [&] { IoCreateDevice(&only.driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, nullptr); },
        [] { IoDeleteDevice(nullptr); },
        [&] { IoAttachDeviceToDeviceStack(nullptr, only.device); },
        [&] { IoAttachDeviceToDeviceStack(only.device, nullptr); },
        [] { IoDetachDevice(nullptr); },
        [] { IoGetAttachedDevice(nullptr); },
        [] { IoGetAttachedDeviceReference(nullptr); },
        [] { IoAllocateWorkItem(nullptr); },
        [] { IoStartPacket(nullptr, nullptr, nullptr, nullptr); },
        [] { IoStartNextPacket(nullptr, FALSE); },
        [] { IoStartNextPacketByKey(nullptr, FALSE, 0); },
        [] { IoSetStartIoAttributes(nullptr, FALSE, FALSE); },
        [] {
            IoBuildDeviceIoControlRequest(0, nullptr, nullptr, 0, nullptr, 0, FALSE, nullptr,
                                          nullptr);
        },
        [] { IoBuildAsynchronousFsdRequest(IRP_MJ_READ, nullptr, nullptr, 0, nullptr, nullptr); },
    };
    for (std::size_t i = 0; i < std::size(calls); ++i)
        EXPECT_EQ(bug_check_of(calls[i]), ULONG{DRIVER_VERIFIER_IOMANAGER_VIOLATION}) << i;
    EXPECT_EQ(made, nullptr);
}

// These checks cost every request, so they run only under the verifier.
TEST_P(Device, EachFunction_OfANullIrp_IsABugCheckUnderTheVerifier) {
    test_driver only(complete_at_once);
    const std::function<void()> calls[] = {
        [&] { IoCallDriver(only.device, nullptr); },
        [] { IoCompleteRequest(nullptr, IO_NO_INCREMENT); },
        [] { IoCancelIrp(nullptr); },
        [] { IoSetCancelRoutine(nullptr, nullptr); },
        [] { IoFreeIrp(nullptr); },
        [] { IoReuseIrp(nullptr, STATUS_SUCCESS); },
        [] { IoInitializeIrp(nullptr, IoSizeOfIrp(1), 1); },
        [] { IoMakeAssociatedIrp(nullptr, 1); },
        [&] { IoStartPacket(only.device, nullptr, nullptr, nullptr); },
    };
    const irpverbs::irp::verifier_scope verified("default");
    for (std::size_t i = 0; i < std::size(calls); ++i)
        EXPECT_EQ(bug_check_of(calls[i]), ULONG{DRIVER_VERIFIER_IOMANAGER_VIOLATION}) << i;
}

TEST_P(Device, DeleteOrDetachMisuse_IsReported) {
    test_driver bottom(complete_at_once);
    test_driver top(forward, bottom);
    auto report = report_of([&] { IoDeleteDevice(bottom.device); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->code, DRIVER_VERIFIER_IOMANAGER_VIOLATION);
    EXPECT_EQ(report->id, 0x201u);
    report = report_of([&] { IoDetachDevice(top.device); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x220u);
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* twice = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &twice);
    ObReferenceObject(twice);
    IoDeleteDevice(twice);
    report = report_of([&] { IoDeleteDevice(twice); });
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 0x202u);
    ObDereferenceObject(twice);
}

IRPVERBS_ON_BOTH_MACHINES(Device);

// The runs of a campaign share a process: a run that a bug check ended must leave no lock behind.
TEST(DeviceMisuse, RunsEndedByIt_LaterRunsGoOn) {
    irpverbs::dispatch::explore_options several;
    several.random_runs = 3;
    several.pct_runs = 0;
    several.stop_at_failure = false;
    several.shrink_budget = 0;
    for (const bool deletes : {true, false}) {
        const auto summary = irpverbs::dispatch::explore(several, [&](auto&) {
            DRIVER_OBJECT driver{};
            DEVICE_OBJECT* lower = nullptr;
            DEVICE_OBJECT* upper = nullptr;
            IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &lower);
            IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &upper);
            IoAttachDeviceToDeviceStack(upper, lower);
            deletes ? IoDeleteDevice(lower) : IoDetachDevice(upper);
        });
        EXPECT_EQ(summary.random.failures, 3u);
    }
}

} // namespace
