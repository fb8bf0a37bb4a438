// Entries of completion queues.
#pragma once

#include "world.hpp"

#include <algorithm>

namespace irpverbs::conformance {

using ids = std::vector<std::uint64_t>;

inline IB_WC entry(std::uint64_t id, ULONG flags = 0, ULONG status = IB_WC_SUCCESS) {
    IB_WC made{};
    made.WrId = id;
    made.Flags = flags;
    made.Status = status;
    return made;
}

/// Removes up to `most` entries with one poll; returns their ids.
inline ids poll(IB_CQ* queue, ULONG most) {
    std::vector<IB_WC> entries(most);
    const ULONG_PTR count = must(poll_cq(queue, most, entries.data()));
    EXPECT_LE(count, most);
    ids taken;
    for (ULONG_PTR i = 0; i < count && i < most; ++i)
        taken.push_back(entries[i].WrId);
    return taken;
}

/// Calls CiGetCqResults; skips the case when the driver does not have it.
struct cq_results {
    cq_results(IB_CQ* queue, ULONG most, IB_WC* to)
        : status(CiGetCqResults(queue, most, to, &taken)) {
        if (status == STATUS_NOT_SUPPORTED)
            throw skipped{"CiGetCqResults returns STATUS_NOT_SUPPORTED"};
    }

    ULONG taken = ~0u;
    NTSTATUS status;
};

/// Returns the entries that CiGetCqResults removes.
inline std::vector<IB_WC> results(IB_CQ* queue, ULONG most) {
    std::vector<IB_WC> entries(most);
    const cq_results got(queue, most, entries.data());
    EXPECT_STATUS(got.status, STATUS_SUCCESS);
    EXPECT_LE(got.taken, most);
    entries.resize(std::min(got.taken, most));
    return entries;
}
inline ids get_results(IB_CQ* queue, ULONG most) {
    ids taken;
    for (const IB_WC& each : results(queue, most))
        taken.push_back(each.WrId);
    return taken;
}

inline void arm(IB_CQ* queue, ULONG flags) { must(arm_cq(queue, flags)); }

} // namespace irpverbs::conformance
