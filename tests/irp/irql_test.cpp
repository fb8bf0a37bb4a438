// Each function of irp is reported when it is called at an IRQL that it forbids, and only then.
#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/findings.hpp>
#include <support/irp_stack.hpp>

#include <irp/device_interface.h>
#include <irp/file.h>
#include <irp/interrupt.h>
#include <irp/power.h>
#include <irp/registry.h>
#include <irp/testing/driver.h>
#include <irp/testing/interrupt.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::detail::check;

// Calls at that level; the level is PASSIVE_LEVEL afterwards in every case.
std::optional<broken_rule> report_at(KIRQL level, const std::function<void()>& call) {
    return report_of([&] {
        KIRQL before = PASSIVE_LEVEL;
        KeRaiseIrql(level, &before);
        struct lowered {
            ~lowered() { irpverbs::dispatch::detail::this_processor().irql = PASSIVE_LEVEL; }
        } const at_the_end;
        call();
    });
}

struct precondition {
    const char* function;
    KIRQL wrong;
    const char* rule;
    std::function<void()> call; // reported before it accesses anything
};

struct packet_memory {
    static constexpr USHORT size = IoSizeOfIrp(1);
    alignas(64) std::array<std::byte, size> bytes{};
    IRP* irp() { return reinterpret_cast<IRP*>(bytes.data()); }
};

class IrpIrqlRules : public BothMachines {
protected:
    static void expect_reported(const std::vector<precondition>& all) {
        const checks_scope watching{check::irql};
        for (const precondition& each : all) {
            const auto report = report_at(each.wrong, each.call);
            ASSERT_TRUE(report) << each.function;
            EXPECT_EQ(report->code, DRIVER_VERIFIER_DETECTED_VIOLATION) << each.function;
            EXPECT_EQ(report->rule, each.rule) << each.function;
            EXPECT_EQ(report->text.find(std::string(each.function) + " was called at"), 0u)
                << report->text;
        }
    }

    test_driver bottom{complete_at_once};
    KIRQL level = PASSIVE_LEVEL;
    IO_STATUS_BLOCK status{};
    IO_REMOVE_LOCK lock{};
    KDEVICE_QUEUE queue{};
    KDEVICE_QUEUE_ENTRY entry{};
    packet_memory memory;
};

constexpr KIRQL above_dispatch = CLOCK_LEVEL;

TEST_P(IrpIrqlRules, IrpAndCancelCallsAtWrongIrql_AreReported) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    expect_reported({
        {"IoReuseIrp", above_dispatch, "IrqlIoDispatch", [&] { IoReuseIrp(irp, 0); }},
        {"IoInitializeIrp", above_dispatch, "IrqlIoDispatch",
         [&] { IoInitializeIrp(memory.irp(), memory.size, 1); }},
        {"IoFreeIrp", above_dispatch, "IrqlIoDispatch", [&] { IoFreeIrp(irp); }},
        {"IoCallDriver", above_dispatch, "IrqlIoDispatch",
         [&] { IoCallDriver(bottom.device, irp); }},
        {"IoCompleteRequest", above_dispatch, "IrqlIoDispatch", [&] { IoCompleteRequest(irp, 0); }},
        {"IoSetCompletionRoutineEx", above_dispatch, "IrqlIoDispatch",
         [&] {
             IoSetCompletionRoutineEx(bottom.device, irp, record_outcome, nullptr, TRUE, TRUE,
                                      TRUE);
         }},
        {"IoMakeAssociatedIrp", above_dispatch, "IrqlIoDispatch",
         [&] { IoMakeAssociatedIrp(irp, 1); }},
        {"IoCancelIrp", above_dispatch, "IrqlIoDispatch", [&] { IoCancelIrp(irp); }},
        {"IoSetCancelRoutine", above_dispatch, "IrqlIoDispatch",
         [&] { IoSetCancelRoutine(irp, nullptr); }},
        {"IoAcquireCancelSpinLock", above_dispatch, "IrqlIoDispatch",
         [&] { IoAcquireCancelSpinLock(&level); }},
        {"IoReleaseCancelSpinLock", PASSIVE_LEVEL, "IrqlIoDispatch",
         [&] { IoReleaseCancelSpinLock(PASSIVE_LEVEL); }},
        {"IoCsqInsertIrp", above_dispatch, "IrqlIoDispatch",
         [&] { IoCsqInsertIrp(nullptr, irp, nullptr); }},
        {"IoCsqRemoveIrp", above_dispatch, "IrqlIoDispatch",
         [&] { IoCsqRemoveIrp(nullptr, nullptr); }},
        {"IoCsqRemoveNextIrp", above_dispatch, "IrqlIoDispatch",
         [&] { IoCsqRemoveNextIrp(nullptr, nullptr); }},
    });
    IoFreeIrp(irp);
}

TEST_P(IrpIrqlRules, IoAllocateIrpAboveDispatchLevel_IsReported) {
    const findings seen{check::irql};
    const KIRQL before = KeGetCurrentIrql();
    irpverbs::dispatch::detail::this_processor().irql = above_dispatch;
    IRP* irp = IoAllocateIrp(1, FALSE); // the handler lets the program continue
    irpverbs::dispatch::detail::this_processor().irql = before;
    ASSERT_EQ(seen.all().size(), 1u);
    EXPECT_EQ(seen.all()[0].rule, "IrqlIoDispatch");
    IoFreeIrp(irp);
}

TEST_P(IrpIrqlRules, DeviceAndRemoveLockCallsAtWrongIrql_AreReported) {
    DEVICE_OBJECT* device = nullptr;
    expect_reported({
        {"IoCreateDevice", DISPATCH_LEVEL, "IrqlIoPassive1",
         [&] {
             IoCreateDevice(&bottom.driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
         }},
        {"IoDeleteDevice", DISPATCH_LEVEL, "IrqlIoApcLte", [&] { IoDeleteDevice(bottom.device); }},
        {"IoAttachDeviceToDeviceStack", above_dispatch, "IrqlIoDispatch",
         [&] { IoAttachDeviceToDeviceStack(bottom.device, bottom.device); }},
        {"IoDetachDevice", APC_LEVEL, "IrqlIoPassive3", [&] { IoDetachDevice(bottom.device); }},
        {"IoGetAttachedDevice", above_dispatch, "IrqlIoDispatch",
         [&] { IoGetAttachedDevice(bottom.device); }},
        {"IoInitializeRemoveLock", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoInitializeRemoveLock(&lock, 0, 0, 0); }},
        {"IoAcquireRemoveLock", above_dispatch, "IrqlIoDispatch",
         [&] { IoAcquireRemoveLock(&lock, nullptr); }},
        {"IoReleaseRemoveLock", above_dispatch, "IrqlIoDispatch",
         [&] { IoReleaseRemoveLock(&lock, nullptr); }},
        {"IoReleaseRemoveLockAndWait", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoReleaseRemoveLockAndWait(&lock, nullptr); }},
    });
}

TEST_P(IrpIrqlRules, RegistryCallsAtWrongIrql_AreReported) {
    HANDLE key = nullptr;
    ULONG length = 0;
    expect_reported({
        {"ZwCreateKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwCreateKey(&key, 0, nullptr, 0, nullptr, 0, nullptr); }},
        {"ZwOpenKey", APC_LEVEL, "IrqlZwPassive", [&] { ZwOpenKey(&key, 0, nullptr); }},
        {"ZwDeleteKey", APC_LEVEL, "IrqlZwPassive", [&] { ZwDeleteKey(key); }},
        {"ZwSetValueKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwSetValueKey(key, nullptr, 0, REG_NONE, nullptr, 0); }},
        {"ZwDeleteValueKey", APC_LEVEL, "IrqlZwPassive", [&] { ZwDeleteValueKey(key, nullptr); }},
        {"ZwFlushKey", APC_LEVEL, "IrqlZwPassive", [&] { ZwFlushKey(key); }},
        {"ZwQueryValueKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwQueryValueKey(key, nullptr, KeyValueBasicInformation, nullptr, 0, &length); }},
        {"ZwEnumerateValueKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwEnumerateValueKey(key, 0, KeyValueBasicInformation, nullptr, 0, &length); }},
        {"ZwQueryKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwQueryKey(key, KeyBasicInformation, nullptr, 0, &length); }},
        {"ZwEnumerateKey", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwEnumerateKey(key, 0, KeyBasicInformation, nullptr, 0, &length); }},
        {"RtlQueryRegistryValues", APC_LEVEL, "IrqlRtlPassive",
         [&] { RtlQueryRegistryValues(0, nullptr, nullptr, nullptr, nullptr); }},
        {"RtlWriteRegistryValue", APC_LEVEL, "IrqlRtlPassive",
         [&] { RtlWriteRegistryValue(0, nullptr, nullptr, REG_NONE, nullptr, 0); }},
        {"RtlDeleteRegistryValue", APC_LEVEL, "IrqlRtlPassive",
         [&] { RtlDeleteRegistryValue(0, nullptr, nullptr); }},
        {"RtlCreateRegistryKey", APC_LEVEL, "IrqlRtlPassive",
         [&] { RtlCreateRegistryKey(0, nullptr); }},
        {"RtlCheckRegistryKey", APC_LEVEL, "IrqlRtlPassive",
         [&] { RtlCheckRegistryKey(0, nullptr); }},
    });
}

TEST_P(IrpIrqlRules, DeviceInterfaceCallsAtWrongIrql_AreReported) {
    void* registered = nullptr;
    HANDLE key = nullptr;
    ULONG length = 0;
    GUID type{};
    PZZWSTR list = nullptr;
    expect_reported({
        {"IoRegisterDeviceInterface", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoRegisterDeviceInterface(bottom.device, &type, nullptr, nullptr); }},
        {"IoSetDeviceInterfaceState", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoSetDeviceInterfaceState(nullptr, TRUE); }},
        {"IoGetDeviceInterfaces", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoGetDeviceInterfaces(&type, nullptr, 0, &list); }},
        {"IoGetDeviceProperty", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoGetDeviceProperty(bottom.device, DevicePropertyClassName, 0, nullptr, &length); }},
        {"IoOpenDeviceRegistryKey", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoOpenDeviceRegistryKey(bottom.device, PLUGPLAY_REGKEY_DEVICE, 0, &key); }},
        {"IoOpenDeviceInterfaceRegistryKey", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoOpenDeviceInterfaceRegistryKey(nullptr, 0, &key); }},
        {"IoRegisterPlugPlayNotification", APC_LEVEL, "IrqlIoPassive5",
         [&] {
             IoRegisterPlugPlayNotification(EventCategoryDeviceInterfaceChange, 0, &type,
                                            &bottom.driver, nullptr, nullptr, &registered);
         }},
        {"IoUnregisterPlugPlayNotification", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoUnregisterPlugPlayNotification(registered); }},
        {"IoUnregisterPlugPlayNotificationEx", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoUnregisterPlugPlayNotificationEx(registered); }},
    });
}

TEST_P(IrpIrqlRules, InterruptCallsAtWrongIrql_AreReported) {
    KINTERRUPT* interrupt = nullptr;
    IO_CONNECT_INTERRUPT_PARAMETERS wanted{};
    expect_reported({
        {"IoConnectInterrupt", APC_LEVEL, "IrqlIoPassive5",
         [&] {
             IoConnectInterrupt(&interrupt, nullptr, nullptr, nullptr, 0, 5, 5, Latched, FALSE, 1,
                                FALSE);
         }},
        {"IoConnectInterruptEx", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoConnectInterruptEx(&wanted); }},
        {"IoDisconnectInterrupt", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoDisconnectInterrupt(interrupt); }},
        {"IrpRaiseInterrupt", above_dispatch, "IrqlIoDispatch", [] { IrpRaiseInterrupt(1); }},
    });
}

TEST_P(IrpIrqlRules, RequestAndMdlCallsAtWrongIrql_AreReported) {
    expect_reported({
        {"IoBuildDeviceIoControlRequest", DISPATCH_LEVEL, "IrqlIoPassive1",
         [&] {
             IoBuildDeviceIoControlRequest(0, bottom.device, nullptr, 0, nullptr, 0, TRUE, nullptr,
                                           &status);
         }},
        {"IoBuildAsynchronousFsdRequest", DISPATCH_LEVEL, "IrqlIoApcLte",
         [&] {
             IoBuildAsynchronousFsdRequest(IRP_MJ_READ, bottom.device, nullptr, 0, nullptr,
                                           &status);
         }},
        {"IoBuildSynchronousFsdRequest", DISPATCH_LEVEL, "IrqlIoApcLte",
         [&] {
             IoBuildSynchronousFsdRequest(IRP_MJ_READ, bottom.device, nullptr, 0, nullptr, nullptr,
                                          &status);
         }},
        {"IoForwardIrpSynchronously", DISPATCH_LEVEL, "IrqlIoApcLte",
         [&] { IoForwardIrpSynchronously(bottom.device, nullptr); }},
        {"IoAllocateMdl", above_dispatch, "IrqlIoDispatch",
         [&] { IoAllocateMdl(&status, 1, FALSE, FALSE, nullptr); }},
        {"IoFreeMdl", above_dispatch, "IrqlIoDispatch", [&] { IoFreeMdl(nullptr); }},
        {"MmProbeAndLockPages", above_dispatch, "IrqlMmDispatch",
         [&] { MmProbeAndLockPages(nullptr, KernelMode, IoReadAccess); }},
        {"MmUnlockPages", above_dispatch, "IrqlMmDispatch", [&] { MmUnlockPages(nullptr); }},
        {"MmBuildMdlForNonPagedPool", above_dispatch, "IrqlMmDispatch",
         [&] { MmBuildMdlForNonPagedPool(nullptr); }},
    });
}

TEST_P(IrpIrqlRules, DeviceQueueAndStartIoCallsAtWrongIrql_AreReported) {
    IRP* irp = nullptr;
    expect_reported({
        {"KeInitializeDeviceQueue", above_dispatch, "IrqlKeDispatchLte",
         [&] { KeInitializeDeviceQueue(&queue); }},
        {"KeInsertDeviceQueue", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { KeInsertDeviceQueue(&queue, &entry); }},
        {"KeInsertByKeyDeviceQueue", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { KeInsertByKeyDeviceQueue(&queue, &entry, 0); }},
        {"KeRemoveDeviceQueue", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { KeRemoveDeviceQueue(&queue); }},
        {"KeRemoveByKeyDeviceQueue", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { KeRemoveByKeyDeviceQueue(&queue, 0); }},
        {"KeRemoveByKeyDeviceQueueIfBusy", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { KeRemoveByKeyDeviceQueueIfBusy(&queue, 0); }},
        {"KeRemoveEntryDeviceQueue", above_dispatch, "IrqlKeDispatchLte",
         [&] { KeRemoveEntryDeviceQueue(&queue, &entry); }},
        {"IoStartPacket", above_dispatch, "IrqlIoDispatch",
         [&] { IoStartPacket(bottom.device, irp, nullptr, nullptr); }},
        {"IoStartNextPacket", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { IoStartNextPacket(bottom.device, FALSE); }},
        {"IoStartNextPacketByKey", PASSIVE_LEVEL, "IrqlDispatch",
         [&] { IoStartNextPacketByKey(bottom.device, FALSE, 0); }},
        {"IoSetStartIoAttributes", above_dispatch, "IrqlIoDispatch",
         [&] { IoSetStartIoAttributes(bottom.device, FALSE, FALSE); }},
    });
}

TEST_P(IrpIrqlRules, WorkItemAndPortCallsAtWrongIrql_AreReported) {
    PVOID port = nullptr;
    PIO_COMPLETION_CONTEXT context = nullptr;
    FILE_IO_COMPLETION_INFORMATION got{};
    ULONG count = 0;
    expect_reported({
        {"IoAllocateWorkItem", above_dispatch, "IrqlIoDispatch",
         [&] { IoAllocateWorkItem(bottom.device); }},
        {"IoFreeWorkItem", above_dispatch, "IrqlIoDispatch", [&] { IoFreeWorkItem(nullptr); }},
        {"IoQueueWorkItem", above_dispatch, "IrqlIoDispatch",
         [&] { IoQueueWorkItem(nullptr, nullptr, DelayedWorkQueue, nullptr); }},
        {"IoQueueWorkItemEx", above_dispatch, "IrqlIoDispatch",
         [&] { IoQueueWorkItemEx(nullptr, nullptr, DelayedWorkQueue, nullptr); }},
        {"IoCreateIoCompletion", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoCreateIoCompletion(&port, 0); }},
        {"IoCloseIoCompletion", APC_LEVEL, "IrqlIoPassive5", [&] { IoCloseIoCompletion(port); }},
        {"IoCreateCompletionContext", DISPATCH_LEVEL, "IrqlIoApcLte",
         [&] { IoCreateCompletionContext(port, nullptr, &context); }},
        {"IoAssociateDevice", DISPATCH_LEVEL, "IrqlIoApcLte",
         [&] { IoAssociateDevice(bottom.device, port, nullptr); }},
        {"IoSetCompletionContext", above_dispatch, "IrqlIoDispatch",
         [&] { IoSetCompletionContext(nullptr, context, nullptr); }},
        {"IoSetCompletionQueue", above_dispatch, "IrqlIoDispatch",
         [&] { IoSetCompletionQueue(nullptr, nullptr); }},
        {"IoSetIoCompletion", above_dispatch, "IrqlIoDispatch",
         [&] { IoSetIoCompletion(port, nullptr, nullptr, 0, 0, FALSE); }},
        {"IoRemoveIoCompletion", above_dispatch, "IrqlIoDispatch",
         [&] { IoRemoveIoCompletionEx(port, &got, 1, &count, nullptr, FALSE); }},
        {"IoQueryIoCompletion", above_dispatch, "IrqlIoDispatch",
         [&] { IoQueryIoCompletion(port); }},
        {"IoCompletionEventFd", APC_LEVEL, "IrqlIoPassive5", [&] { IoCompletionEventFd(port); }},
    });
}

TEST_P(IrpIrqlRules, FileCallsAtWrongIrql_AreReported) {
    HANDLE handle = nullptr;
    UNICODE_STRING name{};
    expect_reported({
        {"NtCreateFile", APC_LEVEL, "IrqlZwPassive",
         [&] { NtCreateFile(&handle, 0, nullptr, &status, nullptr, 0, 0, 0, 0, nullptr, 0); }},
        {"NtReadFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             NtReadFile(nullptr, nullptr, nullptr, nullptr, &status, nullptr, 0, nullptr, nullptr);
         }},
        {"NtWriteFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             NtWriteFile(nullptr, nullptr, nullptr, nullptr, &status, nullptr, 0, nullptr, nullptr);
         }},
        {"NtDeviceIoControlFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             NtDeviceIoControlFile(nullptr, nullptr, nullptr, nullptr, &status, 0, nullptr, 0,
                                   nullptr, 0);
         }},
        {"NtFlushBuffersFile", APC_LEVEL, "IrqlZwPassive",
         [&] { NtFlushBuffersFile(nullptr, &status); }},
        {"NtSetInformationFile", APC_LEVEL, "IrqlZwPassive",
         [&] { NtSetInformationFile(nullptr, &status, nullptr, 0, FilePositionInformation); }},
        {"NtQueryInformationFile", APC_LEVEL, "IrqlZwPassive",
         [&] { NtQueryInformationFile(nullptr, &status, nullptr, 0, FilePositionInformation); }},
        {"ZwCreateFile", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwCreateFile(&handle, 0, nullptr, &status, nullptr, 0, 0, 0, 0, nullptr, 0); }},
        {"ZwReadFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             ZwReadFile(nullptr, nullptr, nullptr, nullptr, &status, nullptr, 0, nullptr, nullptr);
         }},
        {"ZwWriteFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             ZwWriteFile(nullptr, nullptr, nullptr, nullptr, &status, nullptr, 0, nullptr, nullptr);
         }},
        {"ZwDeviceIoControlFile", APC_LEVEL, "IrqlZwPassive",
         [&] {
             ZwDeviceIoControlFile(nullptr, nullptr, nullptr, nullptr, &status, 0, nullptr, 0,
                                   nullptr, 0);
         }},
        {"ZwFlushBuffersFile", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwFlushBuffersFile(nullptr, &status); }},
        {"ZwSetInformationFile", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwSetInformationFile(nullptr, &status, nullptr, 0, FilePositionInformation); }},
        {"ZwQueryInformationFile", APC_LEVEL, "IrqlZwPassive",
         [&] { ZwQueryInformationFile(nullptr, &status, nullptr, 0, FilePositionInformation); }},
        {"NtCancelIoFileEx", APC_LEVEL, "IrqlZwPassive",
         [&] { NtCancelIoFileEx(nullptr, nullptr, &status); }},
        {"NtCancelIoFile", APC_LEVEL, "IrqlZwPassive", [&] { NtCancelIoFile(nullptr, &status); }},
        {"IoGetRelatedDeviceObject", above_dispatch, "IrqlIoDispatch",
         [&] { IoGetRelatedDeviceObject(nullptr); }},
        {"IoCreateSymbolicLink", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoCreateSymbolicLink(&name, &name); }},
        {"IoDeleteSymbolicLink", APC_LEVEL, "IrqlIoPassive5", [&] { IoDeleteSymbolicLink(&name); }},
        {"IoGetDeviceObjectPointer", APC_LEVEL, "IrqlIoPassive5",
         [&] { IoGetDeviceObjectPointer(&name, 0, nullptr, nullptr); }},
        {"IrpLoadDriver", APC_LEVEL, "IrqlIoPassive5",
         [&] { IrpLoadDriver(nullptr, &name, nullptr); }},
        {"PoRequestPowerIrp", above_dispatch, "IrqlIoDispatch",
         [&] { PoRequestPowerIrp(bottom.device, 0, {}, nullptr, nullptr, nullptr); }},
        {"IrpUnloadDriver", APC_LEVEL, "IrqlIoPassive5", [&] { IrpUnloadDriver(&bottom.driver); }},
    });
}

// Tests that sending and completing a request at DISPATCH_LEVEL is within the rules.
TEST_P(IrpIrqlRules, SendAndCompleteAtDispatchLevel_NothingIsReported) {
    const findings seen{check::irql};
    outcome result;
    {
        const at_dispatch_level raised;
        IRP* irp = recorded_request(bottom.device, result);
        IoCancelIrp(irp);
        IoCallDriver(bottom.device, irp);
        IoReuseIrp(irp, STATUS_SUCCESS);
        IoFreeIrp(irp);
        ObReferenceObject(bottom.device);
        ObDereferenceObject(bottom.device);
    }
    EXPECT_EQ(result.completions, 1);
    EXPECT_TRUE(seen.none());
}

// Tests that no call is checked while the verifier is off.
TEST_P(IrpIrqlRules, VerifierOff_NothingIsReported) {
    EXPECT_FALSE(report_at(above_dispatch, [&] {
        ObReferenceObject(bottom.device);
        ObDereferenceObject(bottom.device);
    }));
}

IRPVERBS_ON_BOTH_MACHINES(IrpIrqlRules);

} // namespace
