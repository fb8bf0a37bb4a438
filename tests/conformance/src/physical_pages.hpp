// Memory of physical pages, and writes by the key of a region of them.
#pragma once

#include "transfers.hpp"

#include <memory>

namespace irpverbs::conformance {

inline ULONGLONG number_of(const void* at) {
    return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(at));
}

/// Three pages, and the parameters of a region whose first page is the last one of them, and which
/// begins behind the first bytes of that page.
struct three_pages {
    static constexpr ULONG page = 4096;
    static constexpr ULONG begin = 40;            // of the region in its first page
    static constexpr ULONGLONG base = 0x40000000; // of the addresses in work requests
    static constexpr ULONG length = 3 * page - begin;
    static constexpr ib_access_t access = IB_AC_LOCAL_WRITE | IB_AC_RDMA_READ | IB_AC_RDMA_WRITE;

    struct alignas(page) memory {
        std::array<UCHAR, 3 * page> bytes{};
    };
    std::unique_ptr<memory> pages = std::make_unique<memory>();
    std::array<ib_phys_range_t, 2> ranges{
        {{number_of(&pages->bytes[2 * page]), page}, {number_of(&pages->bytes[0]), 2 * page}}};
    ib_phys_create_t wanted{length, 2, begin, ranges.data(), base + begin, page, access};

    /// A byte, counted from the region's first.
    UCHAR& at(ULONG offset) { return pages->bytes[(begin + offset + 2 * page) % (3 * page)]; }
};

/// Two connected queue pairs, whose second end has regions besides its own.
struct region_scene : transfer_scene {
    using transfer_scene::transfer_scene;

    /// Posts a write by a key.
    void post_write(ULONG rkey, ULONGLONG address, ULONG count = 64) {
        ib_send_wr_t what = one.remote(WR_RDMA_WRITE, 1, other, count);
        what.remote_ops.vaddr = address;
        what.remote_ops.rkey = rkey;
        one.post(what);
    }
    /// Writes by a key; returns the status of the completion.
    ULONG write(ULONG rkey, ULONGLONG address, ULONG count = 64) {
        post_write(rkey, address, count);
        return one.next().Status;
    }
};

} // namespace irpverbs::conformance
