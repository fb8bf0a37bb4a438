// Protection domains, and memory regions.
#pragma once

#include <verbs/library.h>

#include <ci/ci.h>

#include <atomic>
#include <cstddef>

namespace irpverbs::verbs {

struct protection_domain : ibv_pd {
    IB_PD* pd = nullptr;
    protection_domain* parent = nullptr; // of a parent domain: the one that it stands for
    std::atomic<unsigned> stand_ins{0};  // parent domains that stand for this

    static protection_domain& of(ibv_pd* shown) { return *static_cast<protection_domain*>(shown); }
    IB_PD* own() const { return pd; }
};

struct device_memory;

struct memory_region : ibv_mr {
    IB_MR* mr = nullptr;
    unsigned access = 0;
    std::uint64_t iova = 0;          // the address of its first byte in work requests
    device_memory* memory = nullptr; // of which it is a part

    static memory_region& of(ibv_mr* shown) { return *static_cast<memory_region*>(shown); }
};

/// The parameters of a registration.
struct region_attributes {
    ibv_pd* pd;
    void* address;
    std::size_t length;
    unsigned access;
    std::uint64_t iova; // the address of the first byte in work requests
};

/// Registers a region. Returns null and sets errno.
memory_region* register_region(const region_attributes& wanted);

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* segments,
              std::uint32_t count);

/// Access rights.
ib_access_t from_libibverbs_access(unsigned access);
unsigned as_libibverbs_access(ib_access_t access);

} // namespace irpverbs::verbs
