// The driver's operations for address vectors, and the conversion of their attributes.
#pragma once

#include "operations.hpp"

#include <infiniband/verbs.h>

#include <atomic>

namespace irpverbs::hca_rdma {

class address_handles;

struct av_extension : object_extension {
    std::atomic<ibv_ah*> current; // for posts
    address_handles* handles;
};

inline av_extension& extension_of(HCA_AV* av) { return *static_cast<av_extension*>(av->Extension); }

/// The handle with which a work request is posted.
inline ibv_ah* handle_of(IB_AV* av) {
    return extension_of(CONTAINING_RECORD(av, HCA_AV, Av)).current.load(std::memory_order_acquire);
}

/// False if the GID's index is beyond those of libibverbs, which have 8 bits.
bool has_good_gid(const ib_av_attr_t& way);
ibv_ah_attr as_libibverbs(const ib_av_attr_t& from);
ib_av_attr_t from_libibverbs(const ibv_ah_attr& from);
ibv_gid as_libibverbs(const ib_gid_t& from);

NTSTATUS create_av(HCA_AV* av, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_av(HCA_AV* av, CI_UDATA* user_data, PIRP irp);
NTSTATUS modify_av(HCA_AV* av, const ib_av_attr_t* attr, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_av(HCA_AV* av, ib_av_query_t* attr, SIZE_T size, CI_UDATA* user_data, PIRP irp);

} // namespace irpverbs::hca_rdma
