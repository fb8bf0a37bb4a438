// Calls that may block, as IRPs: one at a time, in order. A waiting call is cancellable.
#ifndef IRPVERBS_IBMF_ENGINE_CALL_QUEUE_HPP
#define IRPVERBS_IBMF_ENGINE_CALL_QUEUE_HPP

#include <dispatch/support/scheduled_spin.hpp>
#include <irp/cancel_safe_queue.hpp>

#include <memory>

namespace irpverbs::ibmf {

class call_queue {
public:
    /// Inserts a request run_call. `owner` owns this object and is held while calls run. Returns
    /// STATUS_PENDING.
    NTSTATUS insert(IRP* irp, std::shared_ptr<void> owner);

private:
    static void run(void* self);
    bool try_to_idle(std::shared_ptr<void>& owner);

    irp::cancel_safe_queue waiting_;
    dispatch::detail::scheduled_spin lock_;
    std::shared_ptr<void> owner_; // guarded by lock_; null: no call runs
    WORK_QUEUE_ITEM item_{};
};

} // namespace irpverbs::ibmf

#endif
