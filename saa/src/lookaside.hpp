// An RAII lookaside list for objects of one size.
#pragma once

#include <dispatch/pool.h>

namespace irpverbs::saa {

/// IRQL: <= DISPATCH_LEVEL.
class lookaside {
public:
    lookaside(SIZE_T size, ULONG tag) {
        ExInitializeNPagedLookasideList(&list_, nullptr, nullptr, 0, size, tag, depth);
    }
    ~lookaside() { ExDeleteNPagedLookasideList(&list_); }
    lookaside(const lookaside&) = delete;
    lookaside& operator=(const lookaside&) = delete;

    /// Returns null without memory.
    void* allocate() { return ExAllocateFromNPagedLookasideList(&list_); }
    void free(void* block) { ExFreeToNPagedLookasideList(&list_, block); }

private:
    static constexpr USHORT depth = 16'384; // the number of accesses in a burst

    NPAGED_LOOKASIDE_LIST list_;
};

} // namespace irpverbs::saa
