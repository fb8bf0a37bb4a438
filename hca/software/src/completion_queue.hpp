// Completion queues of the software HCA: rings of completions, and the notification of their
// consumer.
#pragma once

#include <ci/driver.h>

namespace irpverbs::hca_software {

inline constexpr ULONG max_cqs = 1u << 16;
inline constexpr ULONG max_cqes = 1u << 16;

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp);
NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user_data, PIRP irp);
NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken);
NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP irp);

/// The reports that an added completion requires, without locks.
struct cq_reports {
    bool completion = false;
    bool error = false;
    bool lost = false; // the queue was full, or in error

    cq_reports operator|(const cq_reports& other) const {
        return {completion || other.completion, error || other.error, lost || other.lost};
    }
    bool any() const { return completion || error || lost; }
};

/// Adds the completion of a work request; a full queue is in error from then on, and drops it.
/// `report_cq` must be called afterwards. IRQL: DISPATCH_LEVEL.
cq_reports add_completion(HCA_CQ* cq, const IB_WC& completion);
void report_cq(HCA_CQ* cq, const cq_reports& reports);

/// Does both. STATUS_BUFFER_OVERFLOW: the queue was full, and is in error.
NTSTATUS insert_completion(HCA_CQ* cq, const IB_WC& completion);

} // namespace irpverbs::hca_software
