// Channel adapters and completion queues.
#include "device.hpp"
#include "object_memory.hpp"

#include <dispatch/detail/checks.hpp>

namespace irpverbs::ci {

namespace {

template <class Dispatch>
void copy_dispatch(Dispatch& to, const void* from) {
    if (from != nullptr) to = *static_cast<const Dispatch*>(from);
}

} // namespace

ca_object* ca_object::make(hca_device& device, const creation& wanted) {
    const unsigned count = device.description.PortCount + 1u;
    const object_memory<ca_object> memory(count, device.description.CaExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* ca = new (memory.place) ca_object(device.lock, memory.channels, count);
    copy_dispatch(ca->shared.Ca.Dispatch, wanted.dispatch);
    ca->shared.Device = device.fdo;
    ca->shared.Context = wanted.context;
    ca->shared.Extension = memory.extension;
    ca->shared.Reserved = ca;
    dispatch::detail::introduce(ca, "ca");
    return ca;
}

void ca_object::destroy(ca_object* ca) { free_object(ca); }

bool ca_object::listens(unsigned channel) const {
    const IB_CA_DISPATCH& calls = shared.Ca.Dispatch;
    return channel == 0 ? calls.FatalEvent != nullptr : calls.PortEvent != nullptr;
}

void ca_object::call_up(unsigned channel, IB_ASYNC_EVENT event) {
    const IB_CA_DISPATCH& calls = shared.Ca.Dispatch;
    if (channel == 0)
        calls.FatalEvent(&shared.Ca, shared.Context);
    else
        calls.PortEvent(&shared.Ca, shared.Context, static_cast<UCHAR>(channel), event);
}

cq_object* cq_object::make(HCA_CA& ca, const creation& wanted) {
    const HCA_DEVICE& description = device_of(ca.Device).description;
    const object_memory<cq_object> memory(channel_count, description.CqExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* cq = new (memory.place) cq_object(memory.channels);
    copy_dispatch(cq->shared.Cq.Dispatch, wanted.dispatch);
    cq->shared.Cq.NumCqes = wanted.num_cqes;
    cq->shared.Ca = &ca;
    cq->shared.Context = wanted.context;
    cq->shared.Extension = memory.extension;
    cq->shared.Reserved = cq;
    dispatch::detail::introduce(cq, "cq");
    return cq;
}

void cq_object::destroy(cq_object* cq) { free_object(cq); }

bool cq_object::listens(unsigned channel) const {
    const IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    return channel == completion_channel ? calls.CompEvent != nullptr : calls.AsyncEvent != nullptr;
}

void cq_object::call_up(unsigned channel, IB_ASYNC_EVENT event) {
    const IB_CQ_DISPATCH& calls = shared.Cq.Dispatch;
    if (channel == completion_channel)
        calls.CompEvent(shared.Context);
    else
        calls.AsyncEvent(shared.Context, event);
}

} // namespace irpverbs::ci
