// The work requests of one ibv_wr_start, until ibv_wr_complete posts them.
#pragma once

#include <verbs/library.h>

#include <ci/data_path.h>

#include <mutex>
#include <vector>

namespace irpverbs::verbs {

/// Memory for as many work requests as the send queue holds, so that building does not allocate.
class work_request_builder {
public:
    /// Throws std::bad_alloc.
    explicit work_request_builder(IB_QP& qp);

    /// Begins an empty list, and keeps other threads from beginning one.
    void start();
    /// Posts the list. Returns an errno value: of a setter that failed, in which case nothing is
    /// posted, or of the post.
    int complete();
    void abort();

    /// Appends a work request. With a full list it is one that complete() does not post.
    ib_send_wr_t& add(const ibv_qp_ex& with, ib_wr_type_t type, ib_send_opt_t options = 0);
    /// The last one.
    ib_send_wr_t& current() { return requests_[current_]; }

    void set_segments(std::size_t count, const ibv_sge* segments);
    /// Copies bytes behind those that the work request has.
    void begin_inline();
    void add_inline(const void* bytes, std::size_t length);

private:
    void fail(int error);

    IB_QP& qp_;
    std::mutex lock_;
    std::size_t count_ = 0;
    std::size_t current_ = 0;
    int error_ = 0;
    std::vector<ib_send_wr_t> requests_; // one more than the queue holds
    std::vector<ib_local_ds_t> segments_;
    std::vector<UCHAR> inline_bytes_;
};

} // namespace irpverbs::verbs
