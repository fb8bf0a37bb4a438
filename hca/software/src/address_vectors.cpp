#include "address_vectors.hpp"

#include "adapter.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::hca_software {

namespace {

adapter& adapter_of(const HCA_AV* av) { return adapter::of(av->Pd->Ca->Device); }

address_vector& extension_of(const HCA_AV& av) {
    return *static_cast<address_vector*>(av.Extension);
}

} // namespace

ib_av_attr_t way_of(const HCA_AV& av) {
    address_vector& its = extension_of(av);
    const dispatch::detail::spin_guard guard(its.lock);
    return its.way;
}

NTSTATUS create_av(HCA_AV* av, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (!adapter_of(av).avs().add()) return STATUS_INSUFFICIENT_RESOURCES;
    extension_of(*av).way = av->Av.Attr;
    return STATUS_SUCCESS;
}

NTSTATUS destroy_av(HCA_AV* av, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    adapter_of(av).avs().remove();
    return STATUS_SUCCESS;
}

NTSTATUS modify_av(HCA_AV* av, const ib_av_attr_t* attr, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    address_vector& its = extension_of(*av);
    const dispatch::detail::spin_guard guard(its.lock);
    its.way = av->Av.Attr = *attr;
    return STATUS_SUCCESS;
}

NTSTATUS query_av(HCA_AV* av, ib_av_query_t* attr, SIZE_T size, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    const ib_av_query_t made{sizeof(made), &av->Pd->Pd, way_of(*av)};
    return HcaCopyAttributes(&made, sizeof(made), attr, size, irp);
}

} // namespace irpverbs::hca_software
