// Device memory: bytes that a program reaches only through its HCA and the copies of libibverbs.
#pragma once

#include "memory.hpp"

namespace irpverbs::verbs {

/// Bytes of one ibv_alloc_dm, at the most.
inline constexpr std::size_t most_device_memory = std::size_t{1} << 20;

struct device_memory : ibv_dm {
    std::size_t length = 0;
    void* buffer = nullptr; // a common one
    UCHAR* bytes = nullptr; // in it
    std::atomic<unsigned> regions{0};

    static device_memory& of(ibv_dm* shown) { return *static_cast<device_memory*>(shown); }
};

ibv_dm* allocate_memory(ibv_context* of, ibv_alloc_dm_attr* attr);
int free_memory(ibv_dm* shown);
ibv_mr* register_memory(ibv_pd* pd, ibv_dm* shown, std::uint64_t offset, std::size_t length,
                        unsigned access);

} // namespace irpverbs::verbs
