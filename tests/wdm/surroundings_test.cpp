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

RTL_OSVERSIONINFOEXW version() {
    RTL_OSVERSIONINFOEXW info{};
    info.dwOSVersionInfoSize = sizeof info;
    EXPECT_EQ(RtlGetVersion(reinterpret_cast<PRTL_OSVERSIONINFOW>(&info)), STATUS_SUCCESS);
    return info;
}

TEST(WindowsVersion, IsTheInterfaces) {
    const RTL_OSVERSIONINFOEXW info = version();
    EXPECT_EQ(info.dwMajorVersion, 10u);
    EXPECT_EQ(info.wProductType, VER_NT_WORKSTATION);
    ULONG major = 0, build = 0;
    EXPECT_FALSE(PsGetVersion(&major, nullptr, &build, nullptr));
    EXPECT_EQ(major, 10u);
    EXPECT_EQ(build, info.dwBuildNumber);
    EXPECT_TRUE(RtlIsNtDdiVersionAvailable(0x06010000));
    EXPECT_FALSE(RtlIsNtDdiVersionAvailable(0x06010100)); // a service pack is no version
    EXPECT_FALSE(RtlIsNtDdiVersionAvailable(0x0b000000));
}

// The short structure ends where the long one goes on.
TEST(WindowsVersion, ShortStructure_IsNotWrittenBeyond) {
    RTL_OSVERSIONINFOEXW info{};
    info.dwOSVersionInfoSize = sizeof(RTL_OSVERSIONINFOW);
    info.wProductType = 77;
    RtlGetVersion(reinterpret_cast<PRTL_OSVERSIONINFOW>(&info));
    EXPECT_EQ(info.wProductType, 77);
}

TEST(WindowsVersion, Conditions_CompareFromTheMajorNumberOn) {
    constexpr ULONG types = VER_MAJORVERSION | VER_MINORVERSION;
    ULONGLONG at_least = 0;
    VER_SET_CONDITION(at_least, VER_MAJORVERSION, VER_GREATER_EQUAL);
    VER_SET_CONDITION(at_least, VER_MINORVERSION, VER_GREATER_EQUAL);
    RTL_OSVERSIONINFOEXW wanted = version();
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_SUCCESS);
    wanted.dwMinorVersion = 1;
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_REVISION_MISMATCH);
    wanted.dwMajorVersion = 6; // 6.1 is older, though its minor number is higher
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, types, at_least), STATUS_SUCCESS);
    ULONGLONG server = 0;
    VER_SET_CONDITION(server, VER_PRODUCT_TYPE, VER_EQUAL);
    wanted.wProductType = VER_NT_SERVER;
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, VER_PRODUCT_TYPE, server), STATUS_REVISION_MISMATCH);
    EXPECT_EQ(RtlVerifyVersionInfo(&wanted, 0, server), STATUS_INVALID_PARAMETER);
}

TEST(LargeIntegers, Divisions_GiveQuotientAndRemainder) {
    ULONG rest = 0;
    ULARGE_INTEGER few;
    few.QuadPart = 1000;
    EXPECT_EQ(RtlEnlargedUnsignedDivide(few, 7, &rest), 142u);
    EXPECT_EQ(rest, 6u);
    const LARGE_INTEGER many = IrpverbsLarge(10'000'000'000'007);
    EXPECT_EQ(RtlExtendedLargeIntegerDivide(many, 10, &rest).QuadPart, 1'000'000'000'000);
    EXPECT_EQ(rest, 7u);
    LARGE_INTEGER left;
    EXPECT_EQ(RtlLargeIntegerDivide(many, IrpverbsLarge(10'000'000'000), &left).QuadPart, 1000);
    EXPECT_EQ(left.QuadPart, 7);
    // The reciprocal of 10,000, with which drivers made ms of ticks.
    const LARGE_INTEGER magic = IrpverbsLarge(static_cast<LONGLONG>(0xd1b71758e219652c));
    EXPECT_EQ(RtlExtendedMagicDivide(IrpverbsLarge(123'456'789), magic, 13).QuadPart, 12'345);
    EXPECT_EQ(RtlExtendedMagicDivide(IrpverbsLarge(-123'456'789), magic, 13).QuadPart, -12'345);
}

TEST(ErrorLog, Entry_IsWrittenOrFreed) {
    DRIVER_OBJECT driver{};
    RtlInitUnicodeString(&driver.DriverName, L"\\Driver\\Log");
    EXPECT_EQ(IoAllocateErrorLogEntry(&driver, sizeof(IO_ERROR_LOG_PACKET) - 1), nullptr);
    EXPECT_EQ(IoAllocateErrorLogEntry(&driver, ERROR_LOG_MAXIMUM_SIZE + 1), nullptr);
    auto* const written = static_cast<IO_ERROR_LOG_PACKET*>(
        IoAllocateErrorLogEntry(&driver, sizeof(IO_ERROR_LOG_PACKET)));
    ASSERT_NE(written, nullptr);
    written->ErrorCode = static_cast<NTSTATUS>(0xC0040009);
    written->UniqueErrorValue = 7;
    testing::internal::CaptureStderr();
    IoWriteErrorLogEntry(written);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "\\Driver\\Log: error log entry 0xc0040009, final status 0x00000000, "
              "unique value 7\n");
    IoFreeErrorLogEntry(IoAllocateErrorLogEntry(&driver, ERROR_LOG_MAXIMUM_SIZE));
}

TEST(ContiguousMemory, BeginsAtAPage) {
    PHYSICAL_ADDRESS any;
    any.QuadPart = -1;
    auto* const memory = static_cast<char*>(MmAllocateContiguousMemory(5000, any));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(PAGE_ALIGN(memory), memory);
    memset(memory, 1, 5000);
    const PHYSICAL_ADDRESS address = MmGetPhysicalAddress(memory);
    EXPECT_EQ(MmGetVirtualForPhysical(address), memory);
    EXPECT_EQ(MmMapIoSpace(address, 5000, MmNonCached), memory);
    MmFreeContiguousMemory(memory);
}

TEST(ContiguousMemory, PagesOfAnMdl_AreZeroedAndFreedApart) {
    PHYSICAL_ADDRESS any{};
    MDL* const pages = MmAllocatePagesForMdl(any, any, any, 5000);
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(MmGetMdlByteCount(pages), 2 * PAGE_SIZE);
    const auto* const bytes =
        static_cast<const char*>(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority));
    EXPECT_EQ(bytes[0], 0);
    EXPECT_EQ(bytes[2 * PAGE_SIZE - 1], 0);
    MmFreePagesFromMdl(pages);
    ExFreePool(pages);
}

TEST(ContiguousMemory, AddressOfNothing_IsNotValid) {
    int here = 0;
    EXPECT_TRUE(MmIsAddressValid(&here));
    EXPECT_FALSE(MmIsAddressValid(nullptr));
    PHYSICAL_ADDRESS device;
    device.QuadPart = 0x3f8;
    EXPECT_EQ(MmMapIoSpace(device, 8, MmNonCached), nullptr);
}

TEST(DeviceStacks, LowerDevices_AreReferenced) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* below = nullptr;
    DEVICE_OBJECT* above = nullptr;
    for (DEVICE_OBJECT** each : {&below, &above})
        ASSERT_EQ(IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, each),
                  STATUS_SUCCESS);
    DEVICE_OBJECT* lower = nullptr;
    EXPECT_EQ(IoAttachDeviceToDeviceStackSafe(above, below, &lower), STATUS_SUCCESS);
    EXPECT_EQ(lower, below);
    EXPECT_EQ(IoGetLowerDeviceObject(below), nullptr);
    EXPECT_EQ(IoGetLowerDeviceObject(above), below);
    EXPECT_EQ(IoGetDeviceAttachmentBaseRef(above), below);
    EXPECT_EQ(below->Header.ReferenceCount, 3);
    DEVICE_OBJECT* devices[2];
    ULONG count = 0;
    EXPECT_EQ(IoEnumerateDeviceObjectList(&driver, devices, sizeof devices[0], &count),
              STATUS_BUFFER_TOO_SMALL);
    EXPECT_EQ(count, 2u);
    ObDereferenceObject(devices[0]);
    EXPECT_EQ(IoEnumerateDeviceObjectList(&driver, devices, sizeof devices, &count),
              STATUS_SUCCESS);
    for (DEVICE_OBJECT* each : {devices[0], devices[1], below, below})
        ObDereferenceObject(each);
    IoDetachDevice(below);
    IoDeleteDevice(above);
    EXPECT_EQ(below->Header.ReferenceCount, 1);
    IoDeleteDevice(below);
}

TEST(DriverExtensions, AreTheClientsAndZeroed) {
    DRIVER_OBJECT driver{};
    int first = 0;
    int second = 0;
    PVOID memory = nullptr;
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &first, 64, &memory), STATUS_SUCCESS);
    EXPECT_EQ(static_cast<char*>(memory)[63], 0);
    EXPECT_EQ(IoGetDriverObjectExtension(&driver, &first), memory);
    EXPECT_EQ(IoGetDriverObjectExtension(&driver, &second), nullptr);
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &first, 64, &memory),
              STATUS_OBJECT_NAME_COLLISION);
    EXPECT_EQ(IoAllocateDriverObjectExtension(&driver, &second, 64, &memory), STATUS_SUCCESS);
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
