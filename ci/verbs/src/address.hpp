// Address handles, and the conversion of addresses.
#pragma once

#include <verbs/library.h>

#include <ci/ci.h>

#include <endian.h>

namespace irpverbs::verbs {

struct address_handle : ibv_ah {
    IB_AV* av = nullptr;

    static address_handle& of(ibv_ah* shown) { return *static_cast<address_handle*>(shown); }
};

inline ib_gid_t from_libibverbs(const ibv_gid& gid) {
    return {be64toh(gid.global.subnet_prefix), be64toh(gid.global.interface_id)};
}
inline ibv_gid as_libibverbs(const ib_gid_t& gid) {
    ibv_gid made;
    made.global.subnet_prefix = htobe64(gid.gid_prefix);
    made.global.interface_id = htobe64(gid.gid_guid);
    return made;
}

ib_av_attr_t from_libibverbs(const ibv_ah_attr& from);
ibv_ah_attr as_libibverbs(const ib_av_attr_t& from);

} // namespace irpverbs::verbs
