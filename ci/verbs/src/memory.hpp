// Protection domains and memory regions.
#pragma once

#include <verbs/library.h>

#include <ci/ci.h>

namespace irpverbs::verbs {

struct protection_domain : ibv_pd {
    IB_PD* pd = nullptr;

    static protection_domain& of(ibv_pd* shown) { return *static_cast<protection_domain*>(shown); }
    IB_PD* own() const { return pd; }
};

struct memory_region : ibv_mr {
    IB_MR* mr = nullptr;
    unsigned access = 0;

    static memory_region& of(ibv_mr* shown) { return *static_cast<memory_region*>(shown); }
};

/// Access rights.
ib_access_t from_libibverbs_access(unsigned access);
unsigned as_libibverbs_access(ib_access_t access);

} // namespace irpverbs::verbs
