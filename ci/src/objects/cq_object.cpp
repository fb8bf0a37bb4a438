#include "cq_object.hpp"

#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ci {

void cq_object::set_up(const create_parameters& wanted, event_channel* channels) {
    IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    if (wanted.dispatch != nullptr) calls = *static_cast<const IB_CQ_DISPATCH*>(wanted.dispatch);
    channels[completion_channel].has_up_call = calls.CompEvent != nullptr;
    channels[async_channel].has_up_call = calls.AsyncEvent != nullptr;
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
    if (channel == completion_channel)
        calls.CompEvent(shared.Context);
    else
        calls.AsyncEvent(shared.Context, event);
}

} // namespace irpverbs::ci
