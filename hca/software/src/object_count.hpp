// The number of objects of one kind that an HCA has.
#pragma once

#include <dispatch/ntdef.h>

#include <atomic>

namespace irpverbs::hca_software {

class object_count {
public:
    explicit object_count(ULONG most) : most_(most) {}

    /// False: there are as many as the HCA supports.
    bool add() {
        if (count_.fetch_add(1) < most_) return true;
        remove();
        return false;
    }
    void remove() { count_.fetch_sub(1); }

private:
    const ULONG most_;
    std::atomic<ULONG> count_{0};
};

} // namespace irpverbs::hca_software
