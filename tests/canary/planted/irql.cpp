#include "planted.hpp"

#include <dispatch/pool.h>
#include <irp/registry.h>

namespace planted {
namespace {

/// Raises the IRQL for the scope if the bug is planted.
class misplaced {
public:
    misplaced(std::string_view rule, KIRQL level) {
        if (planted(rule)) KeRaiseIrql(level, &before_);
    }
    ~misplaced() {
        if (KeGetCurrentIrql() != before_) KeLowerIrql(before_);
    }
    misplaced(const misplaced&) = delete;
    misplaced& operator=(const misplaced&) = delete;

private:
    KIRQL before_ = KeGetCurrentIrql();
};

void raise_and_lower() {
    KIRQL outer = PASSIVE_LEVEL;
    KIRQL inner = PASSIVE_LEVEL;
    KeRaiseIrql(APC_LEVEL, &outer);
    KeRaiseIrql(planted("IrqlKeRaiseLower") ? PASSIVE_LEVEL : DISPATCH_LEVEL, &inner);
    if (!planted("IrqlKeRaiseLower2")) KeLowerIrql(inner);
    KeLowerIrql(outer);
}

void release_elsewhere() {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KIRQL outer = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL, &outer);
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&lock);
    KeReleaseSpinLock(&lock, planted("IrqlKeReleaseSpinLock") ? outer : level);
    if (planted("IrqlDispatch")) KeLowerIrql(outer);
    KeAcquireSpinLockAtDpcLevel(&lock);
    KeReleaseSpinLockFromDpcLevel(&lock);
    KeLowerIrql(outer);
}

void use_mutexes() {
    KGUARDED_MUTEX guarded;
    FAST_MUTEX fast;
    ExInitializeFastMutex(&guarded);
    ExInitializeFastMutex(&fast);
    {
        const misplaced level("IrqlKeApcLte1", DISPATCH_LEVEL);
        KeAcquireGuardedMutex(&guarded);
        KeReleaseGuardedMutex(&guarded);
    }
    const misplaced level("IrqlExApcLte1", DISPATCH_LEVEL);
    ExAcquireFastMutex(&fast);
    ExReleaseFastMutex(&fast);
}

void use_events() {
    KEVENT event;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    {
        const misplaced level("IrqlKeSetEvent", CLOCK_LEVEL);
        KeSetEvent(&event, IO_NO_INCREMENT, FALSE);
    }
    {
        const misplaced level("IrqlKeWaitForMutexObject", DISPATCH_LEVEL);
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
    }
    {
        const misplaced level("IrqlKeWaitForMultipleObjects", DISPATCH_LEVEL);
        void* objects[] = {&event};
        KeWaitForMultipleObjects(1, objects, WaitAll, Executive, KernelMode, FALSE, nullptr,
                                 nullptr);
    }
    const misplaced level("IrqlKeDispatchLte", CLOCK_LEVEL);
    KeResetEvent(&event);
}

void use_system() {
    EX_RUNDOWN_REF rundown;
    {
        const misplaced level("IrqlExApcLte2", DISPATCH_LEVEL);
        ExInitializeRundownProtection(&rundown);
    }
    {
        const misplaced level("IrqlKeApcLte2", DISPATCH_LEVEL);
        KeEnterCriticalRegion();
        KeLeaveCriticalRegion();
    }
    {
        const misplaced level("IrqlExPassive", APC_LEVEL);
        KeFlushQueuedDpcs();
    }
    HANDLE thread = nullptr;
    void* object = nullptr;
    {
        const misplaced level("IrqlPsPassive", APC_LEVEL);
        PsCreateSystemThread(
            &thread, 0, nullptr, nullptr, nullptr, [](void*) {}, nullptr);
    }
    {
        const misplaced level("IrqlObPassive", APC_LEVEL);
        ObReferenceObjectByHandle(thread, 0, nullptr, KernelMode, &object, nullptr);
    }
    KeWaitForSingleObject(object, Executive, KernelMode, FALSE, nullptr);
    ObDereferenceObject(object);
    {
        WCHAR path[] = u"Planted";
        WCHAR name[] = u"Depth";
        const misplaced level("IrqlRtlPassive", APC_LEVEL);
        RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, path, name);
    }
    const misplaced level("IrqlZwPassive", APC_LEVEL);
    ZwClose(thread);
}

void use_devices() {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* bottom = nullptr;
    DEVICE_OBJECT* top = nullptr;
    IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &bottom);
    {
        const misplaced level("IrqlIoPassive1", DISPATCH_LEVEL);
        IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &top);
    }
    {
        const misplaced level("IrqlIoDispatch", CLOCK_LEVEL);
        IoAttachDeviceToDeviceStack(top, bottom);
    }
    IO_REMOVE_LOCK removal;
    {
        const misplaced level("IrqlIoPassive5", APC_LEVEL);
        IoInitializeRemoveLock(&removal, 0, 0, 0);
    }
    {
        const misplaced level("IrqlIoPassive3", APC_LEVEL);
        IoDetachDevice(bottom);
    }
    {
        const misplaced level("IrqlIoApcLte", DISPATCH_LEVEL);
        IoDeleteDevice(top);
    }
    IoDeleteDevice(bottom);
}

void lock_pages() {
    int buffer = 0;
    MDL* pages = IoAllocateMdl(&buffer, sizeof buffer, FALSE, FALSE, nullptr);
    {
        const misplaced level("IrqlMmDispatch", CLOCK_LEVEL);
        MmProbeAndLockPages(pages, KernelMode, IoReadAccess);
    }
    MmUnlockPages(pages);
    IoFreeMdl(pages);
}

void use_pool() {
    void* block = nullptr;
    {
        const misplaced level("IrqlExAllocatePool", DISPATCH_LEVEL);
        block = ExAllocatePool2(POOL_FLAG_PAGED, 8, 1);
    }
    {
        const misplaced level("PagedCode", DISPATCH_LEVEL);
        PAGED_CODE();
    }
    const misplaced level("IrqlExFree1", DISPATCH_LEVEL);
    ExFreePoolWithTag(block, 1);
}

} // namespace

void changes_irql(sim_machine& sim) {
    sim.spawn("raise", [] {
        raise_and_lower();
        release_elsewhere();
        use_mutexes();
    });
    sim.spawn("call", [] {
        use_events();
        use_system();
        use_devices();
        lock_pages();
        use_pool();
    });
    sim.run();
}

} // namespace planted
