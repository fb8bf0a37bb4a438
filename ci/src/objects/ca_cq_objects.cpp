// Channel adapters and completion queues.
#include "hca_device.hpp"
#include "object_memory.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::ci {

namespace {

template <class Dispatch>
void copy_dispatch(Dispatch& to, const void* from) {
    if (from != nullptr) to = *static_cast<const Dispatch*>(from);
}

} // namespace

ca_object* ca_object::make(hca_device& device, const create_parameters& wanted) {
    const unsigned count = device.description.PortCount + 1u;
    const object_memory<ca_object> memory(count, device.description.CaExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* ca = new (memory.place) ca_object(device.lock, memory.channels, count);
    IB_CA_DISPATCH& calls = ca->shared.Ca.Dispatch;
    copy_dispatch(calls, wanted.dispatch);
    memory.channels[0].has_up_call = calls.FatalEvent != nullptr;
    for (unsigned port = 1; port < count; ++port)
        memory.channels[port].has_up_call = calls.PortEvent != nullptr;
    ca->shared.Device = device.fdo;
    ca->shared.Context = wanted.context;
    ca->shared.Extension = memory.extension;
    ca->shared.Reserved = static_cast<object*>(ca);
    dispatch::detail::name_object(ca, "ca");
    return ca;
}

void ca_object::destroy(ca_object* ca) {
    ca->device().unlink(*ca);
    free_object(ca);
}

void ca_object::begin_events() {
    if (!device().link(*this)) signal(0, IB_AE_LOCAL_FATAL);
}

void ca_object::call_up(unsigned channel, IB_ASYNC_EVENT event) {
    const IB_CA_DISPATCH& calls = shared.Ca.Dispatch;
    if (channel == 0)
        calls.FatalEvent(&shared.Ca, shared.Context);
    else
        calls.PortEvent(&shared.Ca, shared.Context, static_cast<UCHAR>(channel), event);
}

cq_object* cq_object::make(ca_object& ca, const create_parameters& wanted) {
    hca_device& device = ca.device();
    const object_memory<cq_object> memory(channel_count, device.description.CqExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* cq = new (memory.place) cq_object(memory.channels);
    IB_CQ_DISPATCH& calls = cq->shared.Cq.Dispatch;
    copy_dispatch(calls, wanted.dispatch);
    memory.channels[completion_channel].has_up_call = calls.CompEvent != nullptr;
    memory.channels[async_channel].has_up_call = calls.AsyncEvent != nullptr;
    cq->shared.Cq.NumCqes = wanted.count;
    cq->shared.Ca = &ca.shared;
    cq->shared.Context = wanted.context;
    cq->shared.Extension = memory.extension;
    cq->shared.Reserved = static_cast<object*>(cq);
    dispatch::detail::name_object(cq, "cq");
    const dispatch::detail::spin_guard guard(device.lock);
    device.polls.push_back(cq->poll);
    return cq;
}

void cq_object::destroy(cq_object* cq) {
    {
        hca_device& device = cq->parent().device();
        const dispatch::detail::spin_guard guard(device.lock);
        device.polls.erase(device.polls.iterator_to(cq->poll));
    }
    free_object(cq);
}

void cq_object::call_up(unsigned channel, IB_ASYNC_EVENT event) {
    const IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    if (channel == completion_channel)
        calls.CompEvent(shared.Context);
    else
        calls.AsyncEvent(shared.Context, event);
}

} // namespace irpverbs::ci
