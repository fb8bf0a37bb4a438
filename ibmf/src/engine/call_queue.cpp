#include <engine/call_queue.hpp>

#include <engine/status.hpp>
#include <ibmf/support/requests.hpp>

#include <mutex>

namespace irpverbs::ibmf {

NTSTATUS call_queue::insert(IRP* irp, std::shared_ptr<void> owner) {
    waiting_.pend(irp::pending_irp(irp));
    {
        const std::lock_guard guard(lock_);
        if (owner_ != nullptr) return STATUS_PENDING;
        owner_ = std::move(owner);
    }
    ExInitializeWorkItem(&item_, run, this);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
    return STATUS_PENDING;
}

void call_queue::run(void* context) {
    call_queue& self = *static_cast<call_queue*>(context);
    std::shared_ptr<void> owner; // may be the last reference to this
    do {
        while (std::optional<irp::pending_irp> next = self.waiting_.remove_next()) {
            auto& call =
                *static_cast<detail::blocking_call*>(next->stack().Parameters.Others.Argument1);
            call.ran = true;
            const int code = call.run(call);
            std::move(*next).complete(status_of(code), static_cast<ULONG_PTR>(code));
        }
    } while (!self.try_to_idle(owner));
}

// A call that is inserted afterwards queues the work item again.
bool call_queue::try_to_idle(std::shared_ptr<void>& owner) {
    const std::lock_guard guard(lock_);
    if (!waiting_.empty()) return false;
    owner = std::move(owner_);
    owner_ = nullptr;
    return true;
}

} // namespace irpverbs::ibmf
