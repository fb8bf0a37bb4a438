// The events of a shared receive queue with an XRC domain.
#pragma once

#include "completion_queue.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_software {

/// Queue pairs use the queue under their locks and may end at any time, so a DPC reports what they
/// have done.
class receive_reports {
public:
    explicit receive_reports(HCA_SRQ* of) : of_(of) { KeInitializeDpc(&dpc_, deliver, this); }
    receive_reports(const receive_reports&) = delete;
    receive_reports& operator=(const receive_reports&) = delete;

    void add(cq_reports completion, bool reached_limit);
    /// Nothing is added any more. STATUS_PENDING: the DPC destroys the shared_receives and
    /// completes the IRP.
    NTSTATUS end(PIRP irp);

private:
    bool take(cq_reports& completion, bool& reached_limit, PIRP& destroyer);
    static void deliver(KDPC*, void* context, void*, void*);

    HCA_SRQ* const of_;
    KDPC dpc_{};
    KSPIN_LOCK lock_ = 0;       // acquired after those of queue pairs
    cq_reports completion_ = 0; // guarded by lock_, as the next
    bool reached_limit_ = false;
    bool running_ = false; // the DPC is queued or runs
    PIRP destroyer_ = nullptr;
};

} // namespace irpverbs::hca_software
