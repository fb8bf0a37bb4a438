// The driver's operations for protection domains and memory regions.
#pragma once

#include "operations.hpp"

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

struct pd_extension : object_extension {
    ibv_pd* domain;
};

struct mr_extension : object_extension {
    ibv_mr* region;
};

inline pd_extension& extension_of(HCA_PD* pd) { return *static_cast<pd_extension*>(pd->Extension); }
inline mr_extension& extension_of(HCA_MR* mr) { return *static_cast<mr_extension*>(mr->Extension); }

/// The region behind a client's.
ibv_mr* region_of(IB_MR* mr);

/// The rights as IBV_ACCESS_* flags.
int access_flags(ib_access_t rights);
/// The rights for the peer in IBV_ACCESS_* flags, as IB_AC_* flags; others are left out.
ib_access_t remote_rights(unsigned flags);

NTSTATUS allocate_pd(HCA_PD* pd, CI_UDATA* user_data, PIRP irp);
NTSTATUS deallocate_pd(HCA_PD* pd, CI_UDATA* user_data, PIRP irp);
NTSTATUS register_mr(HCA_MR* mr, CI_UDATA* user_data, PIRP irp);
NTSTATUS modify_mr(HCA_MR* mr, const ib_mr_mod_t* modify, CI_UDATA* user_data, PIRP irp);
NTSTATUS deregister_mr(HCA_MR* mr, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_mr(HCA_MR* mr, ib_mr_attr_t* attr, SIZE_T size, CI_UDATA* user_data, PIRP irp);

} // namespace irpverbs::hca_rdma
