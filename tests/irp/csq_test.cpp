// The cancel-safe queue under every schedule of two and three actors.
#include <support/explore_gtest.hpp>

#include <dispatch/machine.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace irpverbs::dispatch;

struct queue_driver {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = nullptr;
    IO_CSQ csq{};
    KSPIN_LOCK lock{};
    LIST_ENTRY list{};

    queue_driver() {
        driver.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        IoCreateDevice(&driver, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        *static_cast<queue_driver**>(device->DeviceExtension) = this;
        KeInitializeSpinLock(&lock);
        InitializeListHead(&list);
        IoCsqInitialize(&csq, insert, remove, peek, acquire, release, complete_cancelled);
    }
    ~queue_driver() { IoDeleteDevice(device); }

    static queue_driver& of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, queue_driver, csq); }
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        IoCsqInsertIrp(&(*static_cast<queue_driver**>(device->DeviceExtension))->csq, irp, nullptr);
        return STATUS_PENDING;
    }
    static void insert(IO_CSQ* csq, IRP* irp) {
        InsertTailList(&of(csq).list, &irp->Tail.Overlay.ListEntry);
    }
    static void remove(IO_CSQ*, IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
    static IRP* peek(IO_CSQ* csq, IRP* irp, void*) {
        LIST_ENTRY& list = of(csq).list;
        LIST_ENTRY* next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : list.Flink;
        return next == &list ? nullptr : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
    }
    static void acquire(IO_CSQ* csq, KIRQL* level) { KeAcquireSpinLock(&of(csq).lock, level); }
    static void release(IO_CSQ* csq, KIRQL level) { KeReleaseSpinLock(&of(csq).lock, level); }
    static void complete_cancelled(IO_CSQ*, IRP* irp) {
        irp->IoStatus.Status = STATUS_CANCELLED;
        irp->IoStatus.Information = 0;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }
    void serve() {
        while (IRP* irp = IoCsqRemoveNextIrp(&csq, nullptr)) {
            irp->IoStatus.Status = STATUS_SUCCESS;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
        }
    }
};

NTSTATUS count_completion(DEVICE_OBJECT*, IRP*, void* context) {
    ++*static_cast<int*>(context);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// Park, cancel and serve race for one IRP; whoever wins, it is completed once.
std::optional<std::string> race(sim_machine& sim) {
    queue_driver driver;
    int completions = 0;
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    IoSetCompletionRoutine(irp, count_completion, &completions, TRUE, TRUE, TRUE);
    sim.spawn("park", [&] { IoCallDriver(driver.device, irp); });
    sim.spawn("cancel", [&] { IoCancelIrp(irp); });
    sim.spawn("serve", [&] { driver.serve(); });
    sim.run();
    driver.serve();
    const bool once = completions == 1;
    IoFreeIrp(irp);
    if (!once) return "completed " + std::to_string(completions) + " times";
    return std::nullopt;
}

TEST(CancelSafeQueue, CompletesOnceUnderRandomAndPctSchedules) {
    explore_options options;
    options.exhaustive_runs = 200000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_explored(options, race);
}

} // namespace
