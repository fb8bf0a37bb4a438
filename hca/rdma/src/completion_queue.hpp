// A completion queue of libibverbs. libibverbs does not keep which entries were in the queue when
// it was armed; such entries are moved to a ring of prefetched entries, which is polled first.
#pragma once

#include "verbs_context.hpp"

#include <ci/driver.h>

#include <memory>

namespace irpverbs::hca_rdma {

class completion_queue final : public kept_object {
public:
    /// Makes a queue with as many entries as `owner` requests; on success sets the actual number in
    /// `owner`.
    static NTSTATUS make(verbs_context& context, HCA_CQ& owner,
                         std::unique_ptr<completion_queue>& made);
    /// Destroys the queue in the kernel. If the kernel refuses, the context keeps the queue while
    /// it is open. IRQL: PASSIVE_LEVEL, also for make and resize; waits until the events of the
    /// queue are acknowledged.
    static void destroy(std::unique_ptr<completion_queue> queue);
    ~completion_queue() override;
    completion_queue(const completion_queue&) = delete;
    completion_queue& operator=(const completion_queue&) = delete;

    /// The queue of a client's IB_CQ.
    static completion_queue& of(IB_CQ* cq);
    ibv_cq* get() const { return cq_; }

    /// Returns the number of entries, or a negative errno.
    int poll(ULONG count, IB_WC* entries);
    NTSTATUS arm(ULONG flags);
    ULONG filled();
    NTSTATUS resize(ULONG num_cqes);

    /// Called for events of the kernel, by the reader that acknowledges the event afterwards.
    void completed();
    void failed();

private:
    completion_queue(verbs_context& context, HCA_CQ& owner);

    NTSTATUS make_room(ULONG entries);
    int poll_kernel(ULONG count, IB_WC* entries);
    bool prefetch(ULONG most);
    IB_WC remove_prefetched();
    bool satisfied() const;
    bool take_notification();
    int request();
    int rearm(bool& notify);
    bool destroy_in_kernel();

    verbs_context& context_;
    HCA_CQ& owner_;
    ibv_cq* cq_ = nullptr;
    EX_RUNDOWN_REF notifications_{}; // acquired while the owner is notified

    KSPIN_LOCK lock_ = 0;
    std::unique_ptr<IB_WC[]> prefetched_; // a ring; guarded by lock_, as are the members below
    ULONG capacity_ = 0;
    ULONG first_ = 0;
    ULONG count_ = 0;
    ULONG solicited_ = 0;   // of these, entries that may satisfy IB_CQ_ARM_SOLICITED
    ULONG armed_ = 0;       // IB_CQ_ARM, or 0
    bool resizing_ = false; // the kernel's queue must not be used
    bool failed_ = false;
};

} // namespace irpverbs::hca_rdma
