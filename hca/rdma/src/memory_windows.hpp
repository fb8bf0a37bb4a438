// The driver's operations for memory windows.
#pragma once

#include "operations.hpp"

#include <infiniband/verbs.h>

namespace irpverbs::hca_rdma {

struct mw_extension : object_extension {
    ibv_mw* window;
};

inline mw_extension& extension_of(HCA_MW* mw) { return *static_cast<mw_extension*>(mw->Extension); }

/// The window behind a client's.
ibv_mw* window_of(IB_MW* mw);

NTSTATUS allocate_mw(HCA_MW* mw, CI_UDATA* user_data, PIRP irp);
NTSTATUS deallocate_mw(HCA_MW* mw, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_mw(HCA_MW* mw, ib_mw_attr_t* attr, SIZE_T size, CI_UDATA* user_data, PIRP irp);
NTSTATUS bind_mw(HCA_MW* mw, HCA_QP* qp, const ib_bind_wr_t* bind, ULONG* rkey);

} // namespace irpverbs::hca_rdma
