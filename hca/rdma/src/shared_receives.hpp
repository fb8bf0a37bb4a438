// A shared receive queue of libibverbs, and the driver's operations for it.
#pragma once

#include "operations.hpp"
#include "posts.hpp"
#include "verbs_context.hpp"

#include <memory>

namespace irpverbs::hca_rdma {

class shared_receives final : public kept_object {
public:
    /// Makes a queue as `owner` requests it; on success sets the granted numbers and the post in
    /// `owner`. IRQL: PASSIVE_LEVEL, also for the others except report. One call at a time.
    static NTSTATUS make(verbs_context& context, HCA_SRQ& owner,
                         std::unique_ptr<shared_receives>& made);
    /// Destroys the queue in the kernel. If the kernel refuses, the context keeps it while it is
    /// open.
    static void destroy(std::unique_ptr<shared_receives> queue);
    ~shared_receives() override;
    shared_receives(const shared_receives&) = delete;
    shared_receives& operator=(const shared_receives&) = delete;

    static shared_receives& of(IB_SRQ* srq);
    ibv_srq* get() const { return target_.queue; }

    NTSTATUS modify(const ib_srq_mod_t& change);
    NTSTATUS query(ib_srq_attr_t& seen) const;

    /// Called for events of the kernel, by the reader that acknowledges the event afterwards.
    void report(IB_ASYNC_EVENT event);

private:
    shared_receives(verbs_context& context, HCA_SRQ& owner);
    int create();
    int read(ibv_srq_attr& seen) const;

    verbs_context& context_;
    HCA_SRQ& owner_;
    shared_post_target target_;
    EX_RUNDOWN_REF notifications_{}; // acquired while the owner is notified
};

struct srq_extension : object_extension {
    shared_receives* queue;
};

NTSTATUS create_srq(HCA_SRQ* srq, CI_UDATA* user_data, PIRP irp);
NTSTATUS destroy_srq(HCA_SRQ* srq, CI_UDATA* user_data, PIRP irp);
NTSTATUS modify_srq(HCA_SRQ* srq, const ib_srq_mod_t* modify, CI_UDATA* user_data, PIRP irp);
NTSTATUS query_srq(HCA_SRQ* srq, ib_srq_attr_t* attr, SIZE_T size, CI_UDATA* user_data, PIRP irp);

} // namespace irpverbs::hca_rdma
