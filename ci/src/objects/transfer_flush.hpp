// The flush of a queue pair whose transfer was cancelled.
#pragma once

#include <irp/wdm.h>

#include <atomic>

struct _IB_QP;

namespace irpverbs::ci {

/// The IRP is allocated before the first transfer begins, so that a cancellation can't fail. IRQL:
/// <= DISPATCH_LEVEL.
class transfer_flush {
public:
    transfer_flush() = default;
    ~transfer_flush();
    transfer_flush(const transfer_flush&) = delete;
    transfer_flush& operator=(const transfer_flush&) = delete;

    NTSTATUS reserve();
    /// Sends CiFlushQp, unless one that was sent has not completed. The caller has reserved it, and
    /// references the queue pair.
    void send(_IB_QP* qp);

private:
    static NTSTATUS on_completed(DEVICE_OBJECT*, IRP* irp, void* context);

    std::atomic<IRP*> irp_{nullptr};
    std::atomic<bool> sent_{false};
};

} // namespace irpverbs::ci
