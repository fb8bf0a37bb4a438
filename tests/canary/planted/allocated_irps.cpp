#include "planted.hpp"

#include <cstdlib>

namespace planted {
namespace {

using namespace irpverbs::testing;

NTSTATUS take(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }

class raised {
public:
    explicit raised(KIRQL level) { KeRaiseIrql(level, &before_); }
    ~raised() { KeLowerIrql(before_); }
    raised(const raised&) = delete;
    raised& operator=(const raised&) = delete;

private:
    KIRQL before_ = PASSIVE_LEVEL;
};

void allocated(const lambda_driver& to) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    if (planted("InitializedAllocated")) IoInitializeIrp(irp, IoSizeOfIrp(1), 1);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_CREATE;
    if (!planted("IoAllocateForward")) IoSetCompletionRoutine(irp, take, nullptr, TRUE, TRUE, TRUE);
    if (planted("IoAllocateComplete")) complete(irp, STATUS_SUCCESS);
    {
        const raised level(planted("ForwardedAtBadIrqlAllocate") ? DISPATCH_LEVEL : PASSIVE_LEVEL);
        IoCallDriver(to.device(), irp);
    }
    if (planted("IrpLeak")) return;
    if (planted("IrpFreedAsPool")) return ExFreePool(irp);
    IoFreeIrp(irp);
    if (planted("IoAllocateFree")) IoFreeIrp(irp);
    if (planted("UseAfterFree")) IoCancelIrp(irp);
    if (planted("WriteAfterFree")) irp->IoStatus.Information = 1;
}

// Initializes an IRP in the driver's own memory.
void initialized(const lambda_driver& to) {
    auto* irp = static_cast<IRP*>(std::aligned_alloc(64, IoSizeOfIrp(1)));
    IoInitializeIrp(irp, IoSizeOfIrp(1), 1);
    if (planted("IoReuseIrp")) IoReuseIrp(irp, STATUS_SUCCESS);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
    IoSetCompletionRoutine(irp, take, nullptr, TRUE, TRUE, TRUE);
    if (planted("CompletedNeverSent")) complete(irp, STATUS_SUCCESS);
    IoCallDriver(to.device(), irp);
    std::free(irp);
}

void asynchronous(const lambda_driver& to) {
    IRP* irp = IoBuildAsynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, to.device(), nullptr, 0, nullptr,
                                             nullptr);
    if (planted("IoBuildFsdComplete")) complete(irp, STATUS_SUCCESS);
    if (!planted("IoBuildFsdForward")) IoSetCompletionRoutine(irp, take, nullptr, TRUE, TRUE, TRUE);
    {
        const raised level(planted("ForwardedAtBadIrqlFsdAsync") ? DISPATCH_LEVEL : PASSIVE_LEVEL);
        IoCallDriver(to.device(), irp);
    }
    IoFreeIrp(irp);
    if (planted("IoBuildFsdFree")) IoFreeIrp(irp);
}

void describe_memory() {
    long memory = 0;
    MDL* mdl = IoAllocateMdl(&memory, sizeof memory, FALSE, FALSE, nullptr);
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    if (!planted("LockedPages")) MmUnlockPages(mdl);
    IoFreeMdl(mdl);
}

NTSTATUS look(DEVICE_OBJECT*, IRP* irp, void* event) {
    if (planted("IoBuildDeviceIoControlSetEvent"))
        KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    if (planted("IoBuildDeviceControlNoFree") || planted("IoBuildSynchronousFsdRequestNoFree"))
        IoFreeIrp(irp);
    return STATUS_CONTINUE_COMPLETION;
}

void bound(const lambda_driver& to, bool control) {
    KEVENT done;
    IO_STATUS_BLOCK status{};
    LARGE_INTEGER offset{};
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    IRP* irp = control ? IoBuildDeviceIoControlRequest(0, to.device(), nullptr, 0, nullptr, 0,
                                                       FALSE, &done, &status)
                       : IoBuildSynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, to.device(), nullptr, 0,
                                                      &offset, &done, &status);
    IoSetCompletionRoutine(irp, look, &done, TRUE, TRUE, TRUE);
    {
        const raised level(control && planted("ThreadBoundIrql")              ? APC_LEVEL
                           : !control && planted("ForwardedAtBadIrqlFsdSync") ? DISPATCH_LEVEL
                                                                              : PASSIVE_LEVEL);
        IoCallDriver(to.device(), irp);
    }
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
}

} // namespace

void allocates_irps(sim_machine& sim) {
    const lambda_driver driver(succeed_at_once);
    sim.spawn("allocate", [&] {
        allocated(driver);
        initialized(driver);
        describe_memory();
    });
    sim.spawn("build", [&] {
        asynchronous(driver);
        if (!planted("IoBuildSynchronousFsdRequestNoFree")) bound(driver, true);
        bound(driver, false);
    });
    sim.run();
}

} // namespace planted
