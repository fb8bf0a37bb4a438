// A region whose page is not mapped, or is unmapped later.
#pragma once

#include "connected_end.hpp"

#include <sys/mman.h>

namespace irpverbs::testing {

/// A page of a region. The system chooses its address for no other mapping of this process, so
/// there is one at a time.
class lent_page {
public:
    explicit lent_page(IB_PD* pd)
        : page_(mmap(far_below, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)),
          mr_(register_mr(pd, page_, size, IB_AC_LOCAL_WRITE | IB_AC_REMOTE | IB_AC_ATOMIC)),
          key(mr_->LKey) {}
    ~lent_page() {
        EXPECT_EQ(deregister_mr(mr_), STATUS_SUCCESS);
        munmap(page_, size);
    }
    lent_page(const lent_page&) = delete;
    lent_page& operator=(const lent_page&) = delete;

    void unmap() { munmap(page_, size); }
    void forbid_writes() { mprotect(page_, size, PROT_READ); }
    ULONGLONG& number() { return *static_cast<ULONGLONG*>(page_); }
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

/// A page that is not mapped any more.
class unmapped_region : public lent_page {
public:
    explicit unmapped_region(IB_PD* pd) : lent_page(pd) { unmap(); }
};

} // namespace irpverbs::testing
