// Completion queues of the software HCA: their verbs, and the notification of their consumers.
#pragma once

#include "completion_ring.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_software {

inline constexpr ULONG max_cqs = 1u << 16;
inline constexpr ULONG max_cqes = 1u << 22;

NTSTATUS create_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_cq(HCA_CQ* cq, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_cq(HCA_CQ* cq, IB_CQ_ATTR* attr, SIZE_T size, PIRP irp);
NTSTATUS resize_cq(HCA_CQ* cq, ULONG num_cqes, CI_UDATA* user_data, PIRP irp);
NTSTATUS poll_cq(HCA_CQ* cq, ULONG count, IB_WC* entries, ULONG* taken);
NTSTATUS arm_cq(HCA_CQ* cq, ULONG flags, PIRP irp);

completion_ring& ring_of(const HCA_CQ* cq);

/// Reports what completion_ring::add has returned. The caller holds no lock.
void report_cq(HCA_CQ* cq, cq_reports reports);

/// Adds and reports a completion. STATUS_BUFFER_OVERFLOW: the queue was full, and is in error.
NTSTATUS insert_completion(HCA_CQ* cq, const IB_WC& completion);

} // namespace irpverbs::hca_software
