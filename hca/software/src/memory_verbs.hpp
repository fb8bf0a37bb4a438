// Protection domains and memory regions of the software HCA.
#pragma once

#include "key_table.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_software {

inline constexpr ULONG max_pds = 1u << 16;
inline constexpr ULONGLONG max_mr_size = 1ull << 47; // a user's address space

inline constexpr SIZE_T mr_extension_size = sizeof(key_holder);

/// HCA_MR.Extension: the key, too, since clients can write to their IB_MR.
inline key_holder& holder_of(const HCA_MR* mr) { return *static_cast<key_holder*>(mr->Extension); }
inline key_holder& holder_of(const IB_MR& mr) {
    return holder_of(reinterpret_cast<const HCA_MR*>(&mr));
}

NTSTATUS allocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP irp);
NTSTATUS deallocate_pd(HCA_PD* pd, CI_UDATA* user, PIRP irp);
NTSTATUS register_mr(HCA_MR* mr, CI_UDATA* user, PIRP irp);
NTSTATUS register_pmr(HCA_MR* mr, CI_UDATA* user, PIRP irp);
NTSTATUS register_smr(HCA_MR* mr, CI_UDATA* user, PIRP irp);
NTSTATUS allocate_frmr(HCA_MR* mr, CI_UDATA* user, PIRP irp);
NTSTATUS modify_mr(HCA_MR* mr, const ib_mr_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS modify_pmr(HCA_MR* mr, const ib_phys_mod_t* modify, CI_UDATA* user, PIRP irp);
NTSTATUS deregister_mr(HCA_MR* mr, CI_UDATA* user, PIRP irp);
NTSTATUS query_mr(HCA_MR* mr, ib_mr_attr_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);

} // namespace irpverbs::hca_software
