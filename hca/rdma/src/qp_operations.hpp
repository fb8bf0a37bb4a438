// The driver's operations for queue pairs and their attachments to multicast groups.
#pragma once

#include "operations.hpp"

namespace irpverbs::hca_rdma {

class queue_pair;

struct qp_extension : object_extension {
    queue_pair* pair;
};

inline qp_extension& extension_of(HCA_QP* qp) { return *static_cast<qp_extension*>(qp->Extension); }

/// HcaExecute, after the state of a queue pair that is to be changed has been read from the kernel:
/// the common half checks the change against it.
NTSTATUS execute_with_state(IRP* irp);

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user_data, PIRP irp);
NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user_data, PIRP irp);
NTSTATUS flush_qp(HCA_QP* qp, PIRP irp);
NTSTATUS attach_mcast(HCA_MCAST* mcast, CI_UDATA* user_data, PIRP irp);
NTSTATUS detach_mcast(HCA_MCAST* mcast, CI_UDATA* user_data, PIRP irp);

} // namespace irpverbs::hca_rdma
