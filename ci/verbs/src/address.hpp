// Address handles, and the conversion of addresses.
#pragma once

#include <verbs/library.h>
#include <verbs/objects.hpp>

#include <ci/ci.h>

namespace irpverbs::verbs {

struct address_handle : ibv_ah {
    IB_AV* av = nullptr;

    static address_handle& of(ibv_ah* shown) { return *static_cast<address_handle*>(shown); }
};

ib_av_attr_t from_libibverbs(const ibv_ah_attr& from);

} // namespace irpverbs::verbs
