// A completion queue of libibverbs, and what it does not keep: which entries were there when it was
// armed. Such entries are taken over from it into a stash, which is polled first.
#pragma once

#include "verbs_context.hpp"

#include <ci/driver.h>

#include <memory>

namespace irpverbs::hca_rdma {

class completion_queue {
public:
    /// Of as many entries as `owner` asks for; on success that is raised to what there is.
    static NTSTATUS make(verbs_context& context, HCA_CQ& owner,
                         std::unique_ptr<completion_queue>& made);
    /// Destroyed in the kernel, or kept by the context for as long as that is open: then the kernel
    /// refused. IRQL: PASSIVE_LEVEL, as for make and resize; waits until its events are
    /// acknowledged.
    static void end(std::unique_ptr<completion_queue> queue);
    ~completion_queue();
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;

    /// Gives back how many, or a negative errno.
    int poll(ULONG count, IB_WC* entries);
    NTSTATUS arm(ULONG flags);
    ULONG filled();
    NTSTATUS resize(ULONG num_cqes);

    /// The kernel tells of it, to a reader that acknowledges the event afterwards.
    void completed();
    void failed();

private:
    friend class verbs_context;
    completion_queue(verbs_context& context, HCA_CQ& owner);

    NTSTATUS make_room(ULONG entries);
    int take_from_kernel(ULONG count, IB_WC* entries);
    bool take_over(ULONG most);
    IB_WC take();
    bool satisfied() const;
    bool fire();
    int request();
    int rearm(bool& tell);
    bool kernel_destroys();

    verbs_context& context_;
    HCA_CQ& owner_;
    ibv_cq* cq_ = nullptr;
    EX_RUNDOWN_REF told_{};                  // who tells the owner
    std::unique_ptr<completion_queue> next_; // of those that the context keeps

    KSPIN_LOCK lock_ = 0;
    std::unique_ptr<IB_WC[]> stash_; // a ring; guarded by lock_, as all below
    ULONG capacity_ = 0;
    ULONG first_ = 0;
    ULONG count_ = 0;
    ULONG deserving_ = 0;   // of these, that may satisfy IB_CQ_ARM_SOLICITED
    ULONG armed_ = 0;       // IB_CQ_ARM, or 0
    bool resizing_ = false; // the kernel's queue is not to be touched
    bool failed_ = false;
};

} // namespace irpverbs::hca_rdma
