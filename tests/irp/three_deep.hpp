// A stack of three devices that keeps all rules.
#pragma once

#include "verified.hpp"

namespace irpverbs::testing {

inline NTSTATUS pass_mark(DEVICE_OBJECT*, IRP* irp, void*) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

/// A filter that copies its location and inspects the IRP, a filter that skips, and a driver with a
/// cancel-safe queue.
struct three_deep {
    KSPIN_LOCK lock;
    LIST_ENTRY list;
    struct queue {
        IO_CSQ csq;
        three_deep* owner;
    } held;
    lambda_driver bottom;
    lambda_driver middle;
    lambda_driver top;

    three_deep()
        : bottom([this](DEVICE_OBJECT*, IRP* irp) {
              IoCsqInsertIrp(&held.csq, irp, nullptr);
              return STATUS_PENDING;
          }),
          middle(bottom,
                 [this](DEVICE_OBJECT*, IRP* irp) {
                     IoSkipCurrentIrpStackLocation(irp);
                     return IoCallDriver(bottom.device(), irp);
                 }),
          top(bottom, [this](DEVICE_OBJECT*, IRP* irp) {
              IoCopyCurrentIrpStackLocationToNext(irp);
              IoSetCompletionRoutine(irp, pass_mark, nullptr, TRUE, TRUE, TRUE);
              return IoCallDriver(middle.device(), irp);
          }) {
        KeInitializeSpinLock(&lock);
        InitializeListHead(&list);
        held.owner = this;
        IoCsqInitialize(&held.csq, insert, remove, peek, acquire, release, finish);
    }
    static three_deep& of(IO_CSQ* csq) { return *CONTAINING_RECORD(csq, queue, csq)->owner; }
    static void insert(IO_CSQ* csq, IRP* irp) {
        InsertTailList(&of(csq).list, &irp->Tail.Overlay.ListEntry);
    }
    static void remove(IO_CSQ*, IRP* irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
    static IRP* peek(IO_CSQ* csq, IRP* irp, void*) {
        LIST_ENTRY& all = of(csq).list;
        LIST_ENTRY* next = irp != nullptr ? irp->Tail.Overlay.ListEntry.Flink : all.Flink;
        return next == &all ? nullptr : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
    }
    static void acquire(IO_CSQ* csq, KIRQL* level) { KeAcquireSpinLock(&of(csq).lock, level); }
    static void release(IO_CSQ* csq, KIRQL level) { KeReleaseSpinLock(&of(csq).lock, level); }
    static void finish(IO_CSQ*, IRP* irp) { complete(irp, STATUS_CANCELLED); }
    void serve() {
        while (IRP* irp = IoCsqRemoveNextIrp(&held.csq, nullptr))
            complete(irp, STATUS_SUCCESS);
    }
};

} // namespace irpverbs::testing
