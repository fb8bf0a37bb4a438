// A region whose page is not mapped.
#pragma once

#include "../connected_end.hpp"

#include <sys/mman.h>

namespace irpverbs::testing {

/// A page of a region that is not mapped any more. The system chooses its address for no other
/// mapping of this process.
class unmapped_region {
public:
    explicit unmapped_region(IB_PD* pd)
        : page_(mmap(far_below, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)),
          mr_(register_mr(pd, page_, size, IB_AC_LOCAL_WRITE | IB_AC_REMOTE | IB_AC_ATOMIC)),
          key(mr_->LKey) {
        munmap(page_, size);
    }
    ~unmapped_region() { EXPECT_EQ(deregister_mr(mr_), STATUS_SUCCESS); }
    unmapped_region(const unmapped_region&) = delete;
    unmapped_region& operator=(const unmapped_region&) = delete;

    ULONGLONG address() const {
        return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(page_));
    }

private:
    static constexpr std::size_t size = 4096;
    static inline void* const far_below = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
    void* page_;
    IB_MR* mr_;

public:
    const ULONG key;
};

} // namespace irpverbs::testing
