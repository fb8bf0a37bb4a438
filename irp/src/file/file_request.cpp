#include <irp/detail/file_request.hpp>

#include "completion/finalize_irp.hpp"
#include "irql_rules.hpp"
#include "open_file.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/testing/probe.hpp>

namespace irpverbs::irp::detail {
namespace {

using namespace dispatch::detail;

class list_lock {
public:
    explicit list_lock(FILE_OBJECT& file) : lock_(file.IrpListLock) {
        KeAcquireSpinLock(&lock_, &before_);
    }
    ~list_lock() { KeReleaseSpinLock(&lock_, before_); }
    list_lock(const list_lock&) = delete;
    list_lock& operator=(const list_lock&) = delete;

private:
    KSPIN_LOCK& lock_;
    KIRQL before_ = PASSIVE_LEVEL;
};

} // namespace

// The IRP is complete for the file before its request is cancellable: a cancellation that comes
// before IoCallDriver is seen by the driver.
NTSTATUS file_request::start(FILE_OBJECT& file, IRP* irp, ULONG output_length,
                             void (*end)(file_request* self)) {
    irp_ = irp;
    file_ = &file;
    end_ = end;
    output_length_ = output_length;
    references_ = 1;
    IoGetNextIrpStackLocation(irp)->FileObject = &file;
    IoSetCompletionRoutine(irp, completed, this, TRUE, TRUE, TRUE);
    DEVICE_OBJECT* top = IoGetRelatedDeviceObject(&file);
    reference_object(file.Header);
    {
        const list_lock guard(file);
        InsertTailList(&file.IrpList, &entry_);
    }
    return IoCallDriver(top, irp);
}

bool file_request::drop() {
    sched_point(point::interlocked, this);
    return __atomic_sub_fetch(&references_, 1, __ATOMIC_ACQ_REL) == 0;
}

NTSTATUS file_request::completed(DEVICE_OBJECT*, IRP* irp, void* context) {
    auto* self = static_cast<file_request*>(context);
    FILE_OBJECT& file = *self->file_;
    return_buffers(irp, self->output_length_);
    {
        const list_lock guard(file);
        RemoveEntryList(&self->entry_);
    }
    const bool continues = self->end_ == nullptr;
    if (continues && irp->PendingReturned) IoMarkIrpPending(irp);
    if (!self->drop()) {
        IRPVERBS_PROBE("file.completed_under_cancel");
        return STATUS_MORE_PROCESSING_REQUIRED;
    }
    if (!continues) self->end_(self);
    dereference_completed(file);
    return continues ? STATUS_CONTINUE_COMPLETION : STATUS_MORE_PROCESSING_REQUIRED;
}

// Called by a canceller.
void file_request::release() {
    if (!drop()) return;
    FILE_OBJECT& file = *file_;
    if (end_ != nullptr)
        end_(this);
    else
        IoCompleteRequest(irp_, IO_NO_INCREMENT);
    dereference_completed(file);
}

file_request* file_request::next_to_cancel(FILE_OBJECT& file, ULONG sweep, predicate matches,
                                           const void* context) {
    const list_lock guard(file);
    for (LIST_ENTRY* each = file.IrpList.Flink; each != &file.IrpList; each = each->Flink) {
        file_request& request = *CONTAINING_RECORD(each, file_request, entry_);
        if (request.last_sweep_ >= sweep || !matches(request, context)) continue;
        request.last_sweep_ = sweep;
        __atomic_add_fetch(&request.references_, 1, __ATOMIC_RELAXED);
        return &request;
    }
    return nullptr;
}

bool file_request::cancel(FILE_OBJECT& file, predicate matches, const void* context) {
    ULONG sweep = 0;
    {
        const list_lock guard(file);
        sweep = ++open_file_of(file).sweeps;
    }
    bool found = false;
    while (file_request* request = next_to_cancel(file, sweep, matches, context)) {
        found = true;
        IoCancelIrp(request->irp_);
        request->release();
    }
    return found;
}

} // namespace irpverbs::irp::detail

using irpverbs::irp::file_of;
using irpverbs::irp::file_reference;
using irpverbs::irp::detail::file_request;

extern "C" {

NTSTATUS NtCancelIoFileEx(HANDLE FileHandle, PIO_STATUS_BLOCK IoRequestToCancel,
                          PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(NtCancelIoFileEx);
    file_reference file;
    const NTSTATUS status = file_of(FileHandle, KernelMode, 0, file);
    if (!NT_SUCCESS(status)) return status;
    const bool found = file_request::cancel(*file, [&](const file_request& each) {
        return IoRequestToCancel == nullptr || each.status_block() == IoRequestToCancel;
    });
    IoStatusBlock->Information = 0;
    IoStatusBlock->Status = found ? STATUS_SUCCESS : STATUS_NOT_FOUND;
    return IoStatusBlock->Status;
}

NTSTATUS NtCancelIoFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(NtCancelIoFile);
    file_reference file;
    const NTSTATUS status = file_of(FileHandle, KernelMode, 0, file);
    if (!NT_SUCCESS(status)) return status;
    file_request::cancel(*file, [caller = KeGetCurrentThread()](const file_request& each) {
        return each.issuer() == caller;
    });
    *IoStatusBlock = {};
    return STATUS_SUCCESS;
}

} // extern "C"
