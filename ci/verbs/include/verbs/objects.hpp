/// The objects behind libibverbs' structures, for interfaces that build on it.
#pragma once

#include <ci/ci.h>

#include <endian.h>
#include <infiniband/verbs.h>

namespace irpverbs::verbs {

/// The open HCA of a context. Ownership: the context's. IRQL: any, as of all functions here.
IB_CA* ca_of(ibv_context* of) noexcept;

/// Calls the function once the HCA of the context has failed, under its lock at <= DISPATCH_LEVEL;
/// at once, if it has already. One function a context, which lives as long as the context.
void on_failure(ibv_context* of, void (*function)(void*), void* argument) noexcept;

inline ib_gid_t from_libibverbs(const ibv_gid& gid) noexcept {
    return {be64toh(gid.global.subnet_prefix), be64toh(gid.global.interface_id)};
}
inline ibv_gid as_libibverbs(const ib_gid_t& gid) noexcept {
    ibv_gid made;
    made.global.subnet_prefix = htobe64(gid.gid_prefix);
    made.global.interface_id = htobe64(gid.gid_guid);
    return made;
}
ibv_ah_attr as_libibverbs(const ib_av_attr_t& from) noexcept;

/// A change of a queue pair for ibv_modify_qp, whose mask is ib_qp_mod_t.opts.
ibv_qp_attr as_libibverbs(const ib_qp_mod_t& from) noexcept;

} // namespace irpverbs::verbs
