// The function that CiGetCqResults calls in place of PollCq, without the driver's lock: the lock
// would cost as much as a poll that finds nothing.
#pragma once

#include <ci/driver.h>

#include <boost/intrusive/list.hpp>

#include <atomic>

namespace irpverbs::ci {

/// The direct polls of one queue: an asymmetric lock. A poll sets a flag; a revocation pays for
/// both, by membarrier(2), which costs as much as many locks. Polls are therefore direct only after
/// many calls that enable them. The driver's lock guards all functions but `refuse`.
class direct_poll : public boost::intrusive::list_base_hook<> {
public:
    /// Registers the process for the barriers of `revoke`. IRQL: PASSIVE_LEVEL; takes time once.
    static void prepare();

    explicit direct_poll(HCA_DIRECT_POLL& words) : words_(words) { refuse(); }

    void enable(PFN_HCA_DIRECT_POLL poll, ibv_cq* queue, const std::atomic<bool>& failed) {
        if (++calls_ == enable_threshold) begin(poll, queue, failed);
    }
    void revoke() {
        calls_ = 0;
        if (used_) end();
    }
    /// Makes later polls skip the function. Callable from any context.
    void refuse();
    /// As refuse(), and for good.
    void refuse_always() {
        refused_.store(true);
        refuse();
    }

private:
    static constexpr unsigned enable_threshold = 32;

    void begin(PFN_HCA_DIRECT_POLL poll, ibv_cq* queue, const std::atomic<bool>& failed);
    void end();

    HCA_DIRECT_POLL& words_;
    unsigned calls_ = 0; // in a row
    bool used_ = false;  // a poll may be inside
    std::atomic<bool> refused_{false};
};

/// The direct polls of a device.
using direct_poll_list =
    boost::intrusive::list<direct_poll, boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::ci
