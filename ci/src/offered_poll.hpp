// What a driver offers CiGetCqResults to call in its place, without the driver's lock: that would
// cost as much as a poll that finds nothing.
#pragma once

#include <ci/ci.h>

#include <atomic>

namespace irpverbs::ci {

class offered_poll;

/// Its place in the list of its device.
struct poll_link {
    LIST_ENTRY entry{};
    offered_poll* poll = nullptr;
};

/// Of one queue. A poll only says that it is inside; who takes the function back has the kernel
/// make every processor of the process see that it may not be any more, which costs as much as many
/// locks. So polls call it only after as many offers. Guarded by the driver's lock, but `refuse`.
class offered_poll {
public:
    /// Asks the kernel for what `take_back` needs. IRQL: PASSIVE_LEVEL; takes time once a process.
    static void prepare();

    explicit offered_poll(IB_CQ& cq) : cq_(cq) { refuse(); }
    static offered_poll& of(const LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(entry, poll_link, entry)->poll;
    }

    void offer(PFN_IB_POLL poll, ibv_cq* queue, const std::atomic<bool>& dead) {
        if (++offers_ == patience) begin(poll, queue, dead);
    }
    void take_back() {
        offers_ = 0;
        if (used_) end();
    }
    /// Polls that come from now on don't call it. From anywhere.
    void refuse();

    poll_link link{{}, this};

private:
    static constexpr unsigned patience = 32;

    void begin(PFN_IB_POLL poll, ibv_cq* queue, const std::atomic<bool>& dead);
    void end();

    IB_CQ& cq_;
    unsigned offers_ = 0; // in a row
    bool used_ = false;   // a poll may be inside
};

} // namespace irpverbs::ci
