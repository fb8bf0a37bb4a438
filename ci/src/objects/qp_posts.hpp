// The functions that CiPostSend and CiPostRecv call.
#pragma once

#include <ci/driver.h>

#include <boost/intrusive/list.hpp>

#include <atomic>

namespace irpverbs::ci {

/// The posts of one queue pair. A null function stands for one that returns STATUS_NOT_SUPPORTED;
/// after a fatal event every function returns STATUS_FILE_FORCED_CLOSED.
class qp_posts : public boost::intrusive::list_base_hook<> {
public:
    explicit qp_posts(HCA_QP_POSTS& functions) : functions_(functions) { store(nullptr, nullptr); }

    /// Callable from any context; the caller makes one call at a time.
    void set(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive, const std::atomic<bool>& failed);
    void refuse();

private:
    void store(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive);

    HCA_QP_POSTS& functions_;
};

/// The queue pairs of a device.
using qp_posts_list = boost::intrusive::list<qp_posts, boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::ci
