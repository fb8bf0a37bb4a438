// Calls that may block, as IRPs: one at a time, in order. A waiting call is cancellable.
#ifndef IRPVERBS_IBMF_ENGINE_CALL_LINE_HPP
#define IRPVERBS_IBMF_ENGINE_CALL_LINE_HPP

#include <irp/cancel_safe_queue.hpp>

#include <memory>

namespace irpverbs::ibmf {

class call_line {
public:
    /// Inserts a request run_a_call. `keeper` owns this object and is held while calls run. Returns
    /// STATUS_PENDING.
    NTSTATUS enter(IRP* irp, std::shared_ptr<void> keeper);

private:
    static void run(void* self);
    bool may_rest(std::shared_ptr<void>& keeper);

    irp::cancel_safe_queue waiting_;
    dispatch::detail::raw_spin lock_;
    std::shared_ptr<void> keeper_; // guarded by lock_; null: no call runs
    WORK_QUEUE_ITEM item_{};
};

} // namespace irpverbs::ibmf

#endif
