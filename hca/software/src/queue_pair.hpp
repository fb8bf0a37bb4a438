// Queue pairs of the software HCA: their verbs, and the attributes that these set.
#pragma once

#include "fabric.hpp"

namespace irpverbs::hca_software {

inline constexpr ULONG max_qp_wrs = 1u << 14;
inline constexpr ULONG max_sges = 32;
inline constexpr ULONG max_inline_data = 1024; // bytes
inline constexpr UCHAR max_reads_of_qp = 16;   // reads and atomics, of either end

/// HCA_QP.Extension
struct queue_pair {
    HCA_QP* shared = nullptr;
    KSPIN_LOCK lock = 0;
    ib_qp_attr_t attr{}; // guarded by lock; the state is HCA_QP.State, stored under lock

    static queue_pair& of(HCA_QP* qp) { return *static_cast<queue_pair*>(qp->Extension); }
};

NTSTATUS create_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp);
NTSTATUS destroy_qp(HCA_QP* qp, CI_UDATA* user, PIRP irp);
NTSTATUS modify_qp(HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS query_qp(HCA_QP* qp, ib_qp_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);
NTSTATUS flush_qp(HCA_QP* qp, PIRP irp);

} // namespace irpverbs::hca_software
