#include "cq_object.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ci {

void cq_object::set_up(const create_parameters& wanted, event_channel* channels) {
    IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    if (wanted.dispatch != nullptr) calls = *static_cast<const IB_CQ_DISPATCH*>(wanted.dispatch);
    channels[completion_channel].has_up_call = calls.CompEvent != nullptr;
    channels[async_channel].has_up_call = calls.AsyncEvent != nullptr;
    channels_ = channels;
    shared.Cq.NumCqes = wanted.count;
    shared.Context = wanted.context;
    const dispatch::detail::spin_guard guard(device().lock);
    device().polls.push_back(poll);
}

void cq_object::tear_down() {
    hca_device& its_device = device();
    const dispatch::detail::spin_guard guard(its_device.lock);
    its_device.polls.erase(its_device.polls.iterator_to(poll));
}

void cq_object::call_up(unsigned channel, IB_ASYNC_EVENT event) {
    const IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    if (channel == async_channel)
        calls.AsyncEvent(shared.Context, event);
    else if (calls.CompEvent != nullptr)
        calls.CompEvent(shared.Context);
    else
        work.drain();
}

// Transfers that begin before the queue is armed are found by the poll after the arming.
NTSTATUS cq_object::begin_transfers() {
    if (has_transfers()) return STATUS_SUCCESS;
    if (shared.Cq.Dispatch.CompEvent != nullptr) return STATUS_INVALID_DEVICE_STATE;
    {
        const dispatch::detail::spin_guard guard(lock_);
        channels_[completion_channel].has_up_call = true;
    }
    poll.refuse_always();
    const NTSTATUS status = work.drain();
    if (NT_SUCCESS(status)) has_transfers_.store(true, std::memory_order_release);
    return status;
}

} // namespace irpverbs::ci
