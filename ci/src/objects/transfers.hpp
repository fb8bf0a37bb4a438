// The transfers whose work completions a completion queue receives.
#pragma once

#include <ci/data_path.h>
#include <ci/driver.h>

#include <dispatch/support/handle_table.hpp>

namespace irpverbs::ci {

struct qp_object;

/// A transfer is found by its handle, the wr_id of its work request: a completion whose wr_id is no
/// handle belongs to no transfer. The thread that removes the handle ends the transfer, so it ends
/// once.
/// IRQL: <= DISPATCH_LEVEL.
class transfers {
public:
    /// `queue` stays valid as long as this.
    explicit transfers(HCA_CQ& queue) : queue_(queue) { InitializeListHead(&outstanding_); }

    /// `post` is the driver's. Returns STATUS_PENDING when the transfer has begun; otherwise the
    /// caller completes the IRP with the status that is returned.
    template <class Post, class Request>
    NTSTATUS start(IRP* irp, Post post, VOID* work_queue, Request posted) {
        const NTSTATUS status = insert(irp, posted.wr_id);
        if (!NT_SUCCESS(status)) return status;
        Request* failed = nullptr;
        const ULONGLONG handle = posted.wr_id;
        const NTSTATUS result = post(work_queue, &posted, &failed);
        if (!NT_SUCCESS(result)) end_unposted(handle, result);
        return STATUS_PENDING;
    }

    /// Ends the transfers whose completions the queue has, and arms the queue. A failure is that of
    /// the driver to arm it.
    NTSTATUS drain();

    /// Ends all transfers of a queue pair, which the HCA executes no more. Results that exist win.
    void abandon(const qp_object& qp);

private:
    NTSTATUS insert(IRP* irp, ULONGLONG& handle);
    void end_unposted(ULONGLONG handle, NTSTATUS status);
    bool end_some();
    IRP* remove(ULONGLONG handle);
    void remove_all_of(const qp_object& qp, LIST_ENTRY& removed);
    qp_object* reference_qp(IRP* irp);
    static void cancel(DEVICE_OBJECT*, IRP* irp);

    HCA_CQ& queue_;
    KSPIN_LOCK lock_ = 0;
    LIST_ENTRY outstanding_{};                     // guarded by lock_
    dispatch::detail::handle_table<IRP*> handles_; // changed under lock_
};

} // namespace irpverbs::ci
