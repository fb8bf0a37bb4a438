// Requests that wait in a cancel-safe queue until a DPC completes or a canceller cancels them.
#include "measurements.hpp"
#include "ours_stack.hpp"

#include <irp/cancel_safe_queue.hpp>

#include <memory>

namespace irpverbs::bench {
namespace {

// A usual WDM driver: IO_CSQ over a list and a spin lock, and a DPC that empties it.
class csq_driver {
public:
    csq_driver() {
        InitializeListHead(&waiting_);
        KeInitializeSpinLock(&lock_);
        KeInitializeDpc(&dpc_, drain, this);
        IoCsqInitialize(&csq_, insert, remove, peek_next, acquire, release, complete_cancelled);
    }
    static NTSTATUS dispatch(PDEVICE_OBJECT device, PIRP irp);

private:
    static csq_driver* of(PIO_CSQ csq) { return CONTAINING_RECORD(csq, csq_driver, csq_); }
    static void insert(PIO_CSQ csq, PIRP irp) {
        InsertTailList(&of(csq)->waiting_, &irp->Tail.Overlay.ListEntry);
    }
    static void remove(PIO_CSQ, PIRP irp) { RemoveEntryList(&irp->Tail.Overlay.ListEntry); }
    static PIRP peek_next(PIO_CSQ csq, PIRP irp, PVOID) {
        PLIST_ENTRY head = &of(csq)->waiting_;
        PLIST_ENTRY next = irp ? irp->Tail.Overlay.ListEntry.Flink : head->Flink;
        return next == head ? nullptr : CONTAINING_RECORD(next, IRP, Tail.Overlay.ListEntry);
    }
    static void acquire(PIO_CSQ csq, PKIRQL irql) { KeAcquireSpinLock(&of(csq)->lock_, irql); }
    static void release(PIO_CSQ csq, KIRQL irql) { KeReleaseSpinLock(&of(csq)->lock_, irql); }
    static void complete_cancelled(PIO_CSQ, PIRP irp) { complete(irp, STATUS_CANCELLED, 0); }
    static void drain(PRKDPC, PVOID context, PVOID, PVOID) {
        auto* self = static_cast<csq_driver*>(context);
        while (PIRP irp = IoCsqRemoveNextIrp(&self->csq_, nullptr))
            complete(irp, STATUS_SUCCESS, result_information);
    }

    IO_CSQ csq_;
    LIST_ENTRY waiting_;
    KSPIN_LOCK lock_;
    KDPC dpc_;
};

BENCH_OPAQUE NTSTATUS csq_driver::dispatch(PDEVICE_OBJECT device, PIRP irp) {
    auto* self = static_cast<csq_driver*>(context_of(device));
    IoCsqInsertIrp(&self->csq_, irp, nullptr);
    KeInsertQueueDpc(&self->dpc_, nullptr, nullptr);
    return STATUS_PENDING;
}

// The same driver in C++: the library's queue with its drain DPC.
class queue_driver {
public:
    static NTSTATUS dispatch(PDEVICE_OBJECT device, PIRP irp);

private:
    static void complete_one(irp::pending_irp request, void*) {
        std::move(request).complete(STATUS_SUCCESS, result_information);
    }
    irp::cancel_safe_queue queue_{complete_one, nullptr};
};

BENCH_OPAQUE NTSTATUS queue_driver::dispatch(PDEVICE_OBJECT device, PIRP irp) {
    return static_cast<queue_driver*>(context_of(device))->queue_.pend(irp::pending_irp(irp));
}

// Sends the batch at DISPATCH_LEVEL, so that the DPC runs once for it, when the level is lowered.
template <class Driver, std::uint64_t Batch>
void queue_and_dpc(run& sample) {
    Driver driver;
    const device_stack stack(Driver::dispatch, 0, &driver);
    std::vector<std::unique_ptr<packet>> packets;
    for (std::uint64_t i = 0; i < Batch; ++i)
        packets.push_back(std::make_unique<packet>(stack.top()));
    std::uint64_t sum = 0;
    const std::uint64_t operations = sample.in_batches_of(Batch);
    sample.start();
    for (std::uint64_t i = 0; i < operations; i += Batch) {
        const KIRQL before = KeRaiseIrqlToDpcLevel();
        for (const auto& each : packets)
            each->send(count_and_keep, &sum);
        KeLowerIrql(before);
    }
    sample.stop();
    expect(sum == operations * result_information, "queue and DPC");
}

BENCH_OPAQUE NTSTATUS count_cancelled(PDEVICE_OBJECT, PIRP irp, PVOID context) {
    *static_cast<std::uint64_t*>(context) += irp->IoStatus.Status == STATUS_CANCELLED;
    return STATUS_MORE_PROCESSING_REQUIRED;
}

template <class Driver>
void pend_and_cancel(run& sample) {
    Driver driver;
    const device_stack stack(Driver::dispatch, 0, &driver);
    packet request(stack.top());
    std::uint64_t cancelled = 0;
    const std::uint64_t operations = sample.operations();
    const KIRQL before = KeRaiseIrqlToDpcLevel(); // keeps the DPC from completing it first
    sample.start();
    for (std::uint64_t i = 0; i < operations; ++i) {
        request.send(count_cancelled, &cancelled);
        IoCancelIrp(request.irp());
    }
    sample.stop();
    KeLowerIrql(before);
    expect(cancelled == operations, "pend and cancel");
}

} // namespace

void add_ours_queue(catalog& all) {
    all.add("ours/queue_dpc_32", "pended in a cancel-safe queue, completed by its DPC, 32 at once",
            queue_and_dpc<queue_driver, 32>);
    all.add("ours/queue_dpc_1",
            "pended in a cancel-safe queue, completed by its DPC, one at a time",
            queue_and_dpc<queue_driver, 1>);
    all.add("ours/pend_cancel", "pended in a cancel-safe queue, cancelled, callback",
            pend_and_cancel<queue_driver>);
    all.add("ours/csq_dpc_32", "pended in an IO_CSQ, completed by a DPC, 32 at once",
            queue_and_dpc<csq_driver, 32>);
    all.add("ours/csq_dpc_1", "pended in an IO_CSQ, completed by a DPC, one at a time",
            queue_and_dpc<csq_driver, 1>);
    all.add("ours/csq_cancel", "pended in an IO_CSQ, cancelled, callback",
            pend_and_cancel<csq_driver>);
}

} // namespace irpverbs::bench
