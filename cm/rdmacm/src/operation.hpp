// IRPs of an id: verbs of cm, and queries of subnet administration.
#pragma once

#include <dispatch/rundown.h>
#include <irp/wdm.h>

#include <atomic>

namespace irpverbs::rdmacm {

/// One IRP that is sent again and again, one at a time. It protects its owner against rundown while
/// it is in progress.
class operation {
public:
    /// Called once for each start, at IRQL <= DISPATCH_LEVEL. It may start the operation again.
    using end_function = void (*)(void* context, NTSTATUS status, ULONG_PTR information);

    operation(EX_RUNDOWN_REF& owner, void* context, end_function ended)
        : owner_(owner), context_(context), ended_(ended) {}
    ~operation();
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    /// Allocates the IRP. False: no memory.
    bool reserve(CCHAR stack_size);

    /// Calls `verb(irp)`. False: the operation is in progress, or the owner is being run down, and
    /// nothing was called.
    template <class Verb>
    bool start(const Verb& verb) {
        if (in_progress_.exchange(true)) return false;
        if (ExAcquireRundownProtection(&owner_) == FALSE) {
            in_progress_ = false;
            return false;
        }
        IoReuseIrp(irp_, STATUS_SUCCESS);
        IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
        verb(irp_);
        return true;
    }
    /// No effect on an operation that is not in progress. IRQL: <= DISPATCH_LEVEL.
    void cancel() {
        if (irp_ != nullptr) IoCancelIrp(irp_);
    }

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* self);

    EX_RUNDOWN_REF& owner_;
    void* const context_;
    const end_function ended_;
    IRP* irp_ = nullptr;
    std::atomic<bool> in_progress_{false};
};

} // namespace irpverbs::rdmacm
