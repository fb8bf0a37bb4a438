// Drivers that follow the WDK's rules: one with a cancel-safe queue, and filters above it.
#pragma once

#include <irp/wdm.h>

#include <atomic>

namespace irpverbs::testing {

/// Pends each request in an IO_CSQ; `serve` completes all that were not cancelled.
class queue_driver {
public:
    queue_driver() {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        IoCreateDevice(&driver_, sizeof(queue_driver*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &device_);
        *static_cast<queue_driver**>(device_->DeviceExtension) = this;
        KeInitializeSpinLock(&lock_);
        InitializeListHead(&waiting_);
        IoCsqInitialize(&csq_, insert, remove, peek, acquire, release, complete_cancelled);
    }
    ~queue_driver() { IoDeleteDevice(device_); }
    queue_driver(const queue_driver&) = delete;
    queue_driver& operator=(const queue_driver&) = delete;

    DEVICE_OBJECT* device() const { return device_; }

    void serve() {
        while (IRP* irp = IoCsqRemoveNextIrp(&csq_, nullptr)) {
            irp->IoStatus.Status = STATUS_SUCCESS;
            irp->IoStatus.Information = 0;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
        }
    }

protected:
    static queue_driver& of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, queue_driver, csq_); }
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        IoCsqInsertIrp(&(*static_cast<queue_driver**>(device->DeviceExtension))->csq_, irp,
                       nullptr);
        return STATUS_PENDING;
    }
    static void insert(IO_CSQ* csq, IRP* irp) {
        InsertTailList(&of(csq).waiting_, &irp->Tail.Overlay.ListEntry);
    }
    static void remove(IO_CSQ*, IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
    static IRP* peek(IO_CSQ* csq, IRP* irp, void*) {
        LIST_ENTRY& list = of(csq).waiting_;
        LIST_ENTRY* next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : list.Flink;
        return next == &list ? nullptr : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
    }
    static void acquire(IO_CSQ* csq, KIRQL* level) { KeAcquireSpinLock(&of(csq).lock_, level); }
    static void release(IO_CSQ* csq, KIRQL level) { KeReleaseSpinLock(&of(csq).lock_, level); }
    static void complete_cancelled(IO_CSQ*, IRP* irp) {
        irp->IoStatus.Status = STATUS_CANCELLED;
        irp->IoStatus.Information = 0;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    IO_CSQ csq_{};
    KSPIN_LOCK lock_{};
    LIST_ENTRY waiting_{};
};

/// Passes requests on with a completion routine, holding a remove lock for each.
class filter_driver {
public:
    explicit filter_driver(DEVICE_OBJECT* below) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch;
        IoCreateDevice(&driver_, sizeof(filter_driver*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE,
                       &device_);
        *static_cast<filter_driver**>(device_->DeviceExtension) = this;
        IoInitializeRemoveLock(&removal_, 0, 0, 0);
        lower_ = IoAttachDeviceToDeviceStack(device_, below);
    }
    ~filter_driver() {
        IoDetachDevice(lower_);
        IoDeleteDevice(device_);
    }
    filter_driver(const filter_driver&) = delete;
    filter_driver& operator=(const filter_driver&) = delete;

    DEVICE_OBJECT* device() const { return device_; }
    /// The number of requests that the lower driver completed.
    int returned() const { return returned_; }

    /// Fails new requests from now on, and returns once the outstanding ones have completed.
    void remove() {
        if (NT_SUCCESS(IoAcquireRemoveLock(&removal_, this)))
            IoReleaseRemoveLockAndWait(&removal_, this);
    }

private:
    static NTSTATUS dispatch(DEVICE_OBJECT* device, IRP* irp) {
        auto* self = *static_cast<filter_driver**>(device->DeviceExtension);
        const NTSTATUS entered = IoAcquireRemoveLock(&self->removal_, irp);
        if (!NT_SUCCESS(entered)) {
            irp->IoStatus.Status = entered;
            irp->IoStatus.Information = 0;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            return entered;
        }
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, lower_completed, self, TRUE, TRUE, TRUE);
        return IoCallDriver(self->lower_, irp);
    }
    static NTSTATUS lower_completed(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto* self = static_cast<filter_driver*>(context);
        if (irp->PendingReturned) IoMarkIrpPending(irp);
        ++self->returned_;
        IoReleaseRemoveLock(&self->removal_, irp);
        return STATUS_CONTINUE_COMPLETION;
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    DEVICE_OBJECT* lower_ = nullptr;
    IO_REMOVE_LOCK removal_{};
    std::atomic<int> returned_{0};
};

/// One request to a device, and the number of its completions.
class counted_request {
public:
    explicit counted_request(DEVICE_OBJECT* device)
        : device_(device), irp_(IoAllocateIrp(device->StackSize, FALSE)) {
        IoGetNextIrpStackLocation(irp_)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    }
    /// An IRP that has not completed is not freed, since a driver owns it.
    ~counted_request() {
        if (completions != 0) IoFreeIrp(irp_);
    }
    counted_request(const counted_request&) = delete;
    counted_request& operator=(const counted_request&) = delete;

    NTSTATUS send() { return IoCallDriver(device_, irp_); }
    void cancel() { IoCancelIrp(irp_); }

    int completions = 0;
    NTSTATUS status = STATUS_PENDING;

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* context) {
        auto* self = static_cast<counted_request*>(context);
        ++self->completions;
        self->status = irp->IoStatus.Status;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    DEVICE_OBJECT* device_;
    IRP* irp_;
};

} // namespace irpverbs::testing
