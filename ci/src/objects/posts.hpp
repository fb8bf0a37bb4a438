// The functions that CiPostSend, CiPostRecv and CiPostSrqRecv call.
#pragma once

#include <ci/driver.h>

#include <boost/intrusive/list.hpp>

#include <atomic>

namespace irpverbs::ci {

/// The posts of a queue pair or shared receive queue. A null function stands for one that returns
/// STATUS_NOT_SUPPORTED; after a fatal event every function returns STATUS_FILE_FORCED_CLOSED.
class posts : public boost::intrusive::list_base_hook<> {
public:
    posts() = default;
    posts(const posts&) = delete;
    posts& operator=(const posts&) = delete;
    virtual ~posts() = default;

    virtual void refuse() = 0;
};

class qp_posts final : public posts {
public:
    explicit qp_posts(HCA_QP_POSTS& functions) : functions_(functions) { store(nullptr, nullptr); }

    /// Callable from any context; the caller makes one call at a time.
    void set(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive, const std::atomic<bool>& failed);
    void refuse() override;

private:
    void store(PFN_HCA_POST_SEND send, PFN_HCA_POST_RECV receive);

    HCA_QP_POSTS& functions_;
};

/// The posts to a queue that a queue pair does not have.
NTSTATUS refuse_sends(VOID* queue, ib_send_wr_t* first, ib_send_wr_t** failed);
NTSTATUS refuse_receives(VOID* queue, ib_recv_wr_t* first, ib_recv_wr_t** failed);

class srq_post final : public posts {
public:
    explicit srq_post(HCA_SRQ_POST& function) : function_(function) { store(nullptr); }

    /// As qp_posts::set.
    void set(PFN_HCA_POST_RECV receive, const std::atomic<bool>& failed);
    void refuse() override;

private:
    void store(PFN_HCA_POST_RECV receive);

    HCA_SRQ_POST& function_;
};

/// The posts of the objects of a device.
using posts_list = boost::intrusive::list<posts, boost::intrusive::constant_time_size<false>>;

} // namespace irpverbs::ci
