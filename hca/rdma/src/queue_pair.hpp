// A queue pair of libibverbs.
#pragma once

#include "posts.hpp"
#include "verbs_context.hpp"

#include <ci/driver.h>

#include <memory>
#include <vector>

namespace irpverbs::hca_rdma {

class queue_pair final : public kept_object {
public:
    /// Makes a queue pair as `owner` requests it; on success sets the granted numbers and the posts
    /// in `owner`. IRQL: PASSIVE_LEVEL, also for the others except report. One call at a time.
    static NTSTATUS make(verbs_context& context, const IB_CA_ATTR& limits, HCA_QP& owner,
                         std::unique_ptr<queue_pair>& made);
    /// Destroys the queue pair in the kernel. If the kernel refuses, the context keeps it while it
    /// is open.
    static void destroy(std::unique_ptr<queue_pair> pair);
    ~queue_pair() override;
    queue_pair(const queue_pair&) = delete;
    queue_pair& operator=(const queue_pair&) = delete;

    /// Stores the state that the kernel reports.
    void read_state();
    NTSTATUS modify(const ib_qp_mod_t& change);
    NTSTATUS query(ib_qp_attr_t& seen);
    NTSTATUS attach(const IB_MCAST& group);
    void detach(const IB_MCAST& group);

    /// Called for events of the kernel, by the reader that acknowledges the event afterwards.
    void report(IB_ASYNC_EVENT event);

private:
    struct attachment {
        IB_MCAST group;
        unsigned count;
    };

    queue_pair(verbs_context& context, HCA_QP& owner);
    int create(const IB_CA_ATTR& limits);
    void set_state(ib_qp_state_t state);
    NTSTATUS check_pkey(const ib_qp_mod_t& change) const;
    NTSTATUS status_of_failed(int error, const ib_qp_mod_t& change) const;
    std::vector<attachment>::iterator find(const IB_MCAST& group);

    verbs_context& context_;
    HCA_QP& owner_;
    post_target posts_;
    bool migrates_ = false; // its HCA has alternate paths
    UCHAR port_ = 1;
    ib_access_t access_ = 0;
    EX_RUNDOWN_REF notifications_{};      // acquired while the owner is notified
    std::vector<attachment> attachments_; // the kernel attaches a group once
};

} // namespace irpverbs::hca_rdma
