#include <engine/call_line.hpp>

#include <engine/status.hpp>
#include <ibmf/detail/requests.hpp>

#include <mutex>

namespace irpverbs::ibmf {

NTSTATUS call_line::enter(IRP* irp, std::shared_ptr<void> keeper) {
    waiting_.park(irp::obligation(irp));
    {
        const std::lock_guard guard(lock_);
        if (keeper_ != nullptr) return STATUS_PENDING;
        keeper_ = std::move(keeper);
    }
    ExInitializeWorkItem(&item_, run, this);
    ExQueueWorkItem(&item_, DelayedWorkQueue);
    return STATUS_PENDING;
}

void call_line::run(void* context) {
    call_line& self = *static_cast<call_line*>(context);
    std::shared_ptr<void> keeper; // may be the last reference to this
    do {
        while (std::optional<irp::obligation> next = self.waiting_.pop()) {
            auto& call =
                *static_cast<detail::blocking_call*>(next->stack().Parameters.Others.Argument1);
            call.ran = true;
            const int code = call.run(call);
            std::move(*next).complete(status_of(code), static_cast<ULONG_PTR>(code));
        }
    } while (!self.may_rest(keeper));
}

// A call that enters afterwards queues the work item again.
bool call_line::may_rest(std::shared_ptr<void>& keeper) {
    const std::lock_guard guard(lock_);
    if (!waiting_.empty()) return false;
    keeper = std::move(keeper_);
    keeper_ = nullptr;
    return true;
}

} // namespace irpverbs::ibmf
