#include "transfer_flush.hpp"

#include <ci/qp.h>

namespace irpverbs::ci {

transfer_flush::~transfer_flush() {
    if (IRP* irp = irp_.load()) IoFreeIrp(irp);
}

NTSTATUS transfer_flush::reserve() {
    if (irp_.load(std::memory_order_acquire) != nullptr) return STATUS_SUCCESS;
    IRP* made = IoAllocateIrp(1, FALSE);
    if (made == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    IRP* expected = nullptr;
    if (!irp_.compare_exchange_strong(expected, made)) IoFreeIrp(made);
    return STATUS_SUCCESS;
}

// The verb holds a reference to the queue pair until this has returned.
NTSTATUS transfer_flush::on_completed(DEVICE_OBJECT*, IRP*, void* context) {
    static_cast<transfer_flush*>(context)->sent_.store(false);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// A work request that was posted before a flush that has not completed is flushed by it: the flush
// has its turn among the changes of the state, none of which can follow it unnoticed.
void transfer_flush::send(_IB_QP* qp) {
    if (sent_.exchange(true)) return;
    IRP* irp = irp_.load();
    IoReuseIrp(irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(irp, on_completed, this, TRUE, TRUE, TRUE);
    CiFlushQp(qp, irp);
}

} // namespace irpverbs::ci
