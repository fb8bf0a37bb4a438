// Address vectors of the software HCA.
#pragma once

#include <ci/driver.h>

namespace irpverbs::hca_software {

inline constexpr ULONG max_avs = 1u << 20;

/// HCA_AV.Extension: clients can write to their IB_AV.
struct address_vector {
    KSPIN_LOCK lock;
    ib_av_attr_t way; // guarded by lock
};

inline constexpr SIZE_T av_extension_size = sizeof(address_vector);

/// The attributes at the time of the call. IRQL: <= DISPATCH_LEVEL.
ib_av_attr_t way_of(const HCA_AV& av);

NTSTATUS create_av(HCA_AV* av, CI_UDATA* user, PIRP irp);
NTSTATUS destroy_av(HCA_AV* av, CI_UDATA* user, PIRP irp);
NTSTATUS modify_av(HCA_AV* av, const ib_av_attr_t* attr, CI_UDATA* user, PIRP irp);
NTSTATUS query_av(HCA_AV* av, ib_av_query_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp);

} // namespace irpverbs::hca_software
