// Memory windows of the software HCA.
#pragma once

#include "key_table.hpp"

namespace irpverbs::hca_software {

/// HCA_MW.Extension.
struct memory_window {
    key_holder holder;
    ULONG posted; // the key after all bindings that CiBindMw has posted

    static memory_window& of(const HCA_MW* mw) {
        return *static_cast<memory_window*>(mw->Extension);
    }
};

NTSTATUS allocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP irp);
NTSTATUS deallocate_mw(HCA_MW* mw, CI_UDATA* user, PIRP irp);
NTSTATUS query_mw(HCA_MW* mw, ib_mw_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);
NTSTATUS bind_mw(HCA_MW* mw, HCA_QP* qp, const ib_bind_wr_t* bind, ULONG* rkey);

} // namespace irpverbs::hca_software
