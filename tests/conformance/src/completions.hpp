// Entries of completion queues.
#pragma once

#include "world.hpp"

namespace irpverbs::conformance {

using ids = std::vector<std::uint64_t>;

inline IB_WC entry(std::uint64_t id, ULONG flags = 0, ULONG status = IB_WC_SUCCESS) {
    IB_WC made{};
    made.WrId = id;
    made.Flags = flags;
    made.Status = status;
    return made;
}

/// What a poll of so many takes out.
inline ids poll(IB_CQ* queue, ULONG most) {
    std::vector<IB_WC> entries(most);
    const ULONG_PTR count = must(poll_cq(queue, most, entries.data()));
    EXPECT_LE(count, most);
    ids taken;
    for (ULONG_PTR i = 0; i < count && i < most; ++i)
        taken.push_back(entries[i].WrId);
    return taken;
}

inline void arm(IB_CQ* queue, ULONG flags) { must(arm_cq(queue, flags)); }

} // namespace irpverbs::conformance
