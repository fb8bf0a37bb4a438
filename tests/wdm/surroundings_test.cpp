// Questions of a driver about its surroundings.
#include <gtest/gtest.h>
#include <ntifs.h>

namespace {

TEST(WindowsSurroundings, PowerState_IsKeptForTheSystemAndForTheDevice) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    POWER_STATE state;
    state.DeviceState = PowerDeviceD3;
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceUnspecified);
    state.SystemState = PowerSystemSleeping1;
    EXPECT_EQ(PoSetPowerState(device, SystemPowerState, state).SystemState, PowerSystemUnspecified);
    state.DeviceState = PowerDeviceD0;
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceD3);
    EXPECT_EQ(PoSetPowerState(device, DevicePowerState, state).DeviceState, PowerDeviceD0);
    state.SystemState = PowerSystemWorking;
    EXPECT_EQ(PoSetPowerState(device, SystemPowerState, state).SystemState, PowerSystemSleeping1);
    IoDeleteDevice(device);
}

TEST(WindowsSurroundings, Callers_AreTheKernelsThreads) {
    EXPECT_EQ(ExGetPreviousMode(), KernelMode);
    EXPECT_EQ(PsGetCurrentThreadId(), PsGetThreadId(PsGetCurrentThread()));
    EXPECT_NE(PsGetCurrentProcessId(), nullptr);
    EXPECT_EQ(KeSetPriorityThread(KeGetCurrentThread(), 16), KeQueryPriorityThread(nullptr));
    LARGE_INTEGER before, now;
    KeQuerySystemTime(&before);
    KeQuerySystemTimePrecise(&now);
    EXPECT_GE(now.QuadPart, before.QuadPart);
}

TEST(WindowsSurroundings, WdmVersions_AreThoseUpToVistas) {
    EXPECT_TRUE(IoIsWdmVersionAvailable(1, 0x30));
    EXPECT_TRUE(IoIsWdmVersionAvailable(6, 0));
    EXPECT_FALSE(IoIsWdmVersionAvailable(6, 1));
    EXPECT_FALSE(IoIsWdmVersionAvailable(7, 0));
}

TEST(WindowsSurroundings, ReferenceByPointer_KeepsTheObject) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device),
              STATUS_SUCCESS);
    EXPECT_EQ(ObReferenceObjectByPointer(device, 0, *IoDeviceObjectType, KernelMode),
              STATUS_SUCCESS);
    IoDeleteDevice(device);
    EXPECT_EQ(device->DriverObject, &driver);
    ObDereferenceObject(device);
}

TEST(WindowsSurroundings, Threads_BelongToOneSystemProcess) {
    PEPROCESS found = nullptr;
    ASSERT_EQ(PsLookupProcessByProcessId(PsGetCurrentProcessId(), &found), STATUS_SUCCESS);
    EXPECT_EQ(found, PsGetCurrentProcess());
    EXPECT_EQ(found, PsGetThreadProcess(PsGetCurrentThread()));
    ObDereferenceObject(found);
    EXPECT_EQ(PsLookupProcessByProcessId(nullptr, &found), STATUS_INVALID_PARAMETER);
    EXPECT_TRUE(PsIsSystemThread(PsGetCurrentThread()));
}

void set_top_level(PVOID) {
    EXPECT_EQ(IoGetTopLevelIrp(), nullptr);
    IoSetTopLevelIrp(reinterpret_cast<PIRP>(2));
}

TEST(WindowsSurroundings, TopLevelIrp_IsTheThreads) {
    IoSetTopLevelIrp(reinterpret_cast<PIRP>(1));
    HANDLE handle;
    ASSERT_EQ(PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, set_top_level, nullptr),
              STATUS_SUCCESS);
    PVOID thread;
    ASSERT_EQ(ObReferenceObjectByHandle(handle, 0, *PsThreadType, KernelMode, &thread, nullptr),
              STATUS_SUCCESS);
    KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, nullptr);
    ObDereferenceObject(thread);
    ZwClose(handle);
    EXPECT_EQ(IoGetTopLevelIrp(), reinterpret_cast<PIRP>(1));
    IoSetTopLevelIrp(nullptr);
}

TEST(WindowsSurroundings, ProcessorNumbers_ThereAndBackAreTheSame) {
    PROCESSOR_NUMBER number;
    ASSERT_EQ(KeGetProcessorNumberFromIndex(0, &number), STATUS_SUCCESS);
    EXPECT_EQ(KeGetProcessorIndexFromNumber(&number), 0u);
    EXPECT_EQ(KeGetProcessorNumberFromIndex(KeQueryMaximumProcessorCount(), &number),
              STATUS_INVALID_PARAMETER);
    number.Group = 1;
    EXPECT_EQ(KeGetProcessorIndexFromNumber(&number), INVALID_PROCESSOR_INDEX);
}

TEST(Requests, SynchronousOnes_AreKnownByFileOrFlags) {
    IRP* const irp = IoAllocateIrp(1, FALSE);
    IoSetNextIrpStackLocation(irp);
    EXPECT_FALSE(IoIsOperationSynchronous(irp));
    irp->Flags |= IRP_SYNCHRONOUS_API;
    EXPECT_TRUE(IoIsOperationSynchronous(irp));
    irp->Flags = 0;
    FILE_OBJECT file{};
    IoGetCurrentIrpStackLocation(irp)->FileObject = &file;
    EXPECT_FALSE(IoIsOperationSynchronous(irp));
    file.Flags = FO_SYNCHRONOUS_IO;
    EXPECT_TRUE(IoIsOperationSynchronous(irp));
    IoFreeIrp(irp);
}

TEST(DosErrors, KnownStatuses_HaveTheirErrors) {
    EXPECT_EQ(RtlNtStatusToDosError(STATUS_SUCCESS), 0u);
    EXPECT_EQ(RtlNtStatusToDosError(STATUS_ACCESS_DENIED), 5u);
    EXPECT_EQ(RtlNtStatusToDosError(STATUS_CANCELLED), 995u);
    EXPECT_EQ(RtlNtStatusToDosErrorNoTeb(static_cast<NTSTATUS>(0xE0000001)), 317u);
}

TEST(Ports, WithoutDevices_ReadAllOnes) {
    WRITE_PORT_UCHAR(reinterpret_cast<PUCHAR>(0x3f8), 1);
    EXPECT_EQ(READ_PORT_UCHAR(reinterpret_cast<PUCHAR>(0x3f8)), 0xff);
    USHORT words[2] = {};
    READ_PORT_BUFFER_USHORT(reinterpret_cast<PUSHORT>(0x1f0), words, 2);
    EXPECT_EQ(words[1], 0xffff);
    ULONG registers[2] = {1, 2};
    ULONG read[2];
    READ_REGISTER_BUFFER_ULONG(registers, read, 2);
    EXPECT_EQ(read[1], 2u);
}

TEST(SystemRoutines, AreFoundByTheirNames) {
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"NoSuchRoutine");
    EXPECT_EQ(MmGetSystemRoutineAddress(&name), nullptr);
    RtlInitUnicodeString(&name, L"strlen");
    EXPECT_EQ(MmGetSystemRoutineAddress(&name), reinterpret_cast<PVOID>(strlen));
    EXPECT_TRUE(ExIsProcessorFeaturePresent(PF_XMMI64_INSTRUCTIONS_AVAILABLE));
}

TEST(RemovableMedia, DeviceToVerify_IsThatOfTheIrpsThread) {
    DEVICE_OBJECT device{};
    IRP* const irp = IoAllocateIrp(1, FALSE);
    irp->Tail.Overlay.Thread = nullptr;
    IoSetHardErrorOrVerifyDevice(irp, &device);
    EXPECT_EQ(IoGetDeviceToVerify(PsGetCurrentThread()), nullptr);
    irp->Tail.Overlay.Thread = PsGetCurrentThread();
    IoSetHardErrorOrVerifyDevice(irp, &device);
    EXPECT_EQ(IoGetDeviceToVerify(PsGetCurrentThread()), &device);
    IoSetDeviceToVerify(PsGetCurrentThread(), nullptr);
    EXPECT_EQ(IoGetDeviceToVerify(PsGetCurrentThread()), nullptr);
    IoFreeIrp(irp);
}

} // namespace
