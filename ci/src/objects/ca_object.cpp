// Channel adapters.
#include "hca_device.hpp"
#include "object_memory.hpp"

#include <ci/support/requestor.hpp>
#include <dispatch/support/checks.hpp>

namespace irpverbs::ci {

ca_object* ca_object::make(hca_device& device, const create_parameters& wanted) {
    const unsigned count = device.description.PortCount + 1u;
    const object_memory<ca_object> memory(count, device.description.CaExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* ca = new (memory.place) ca_object(device.lock, memory.channels, count);
    IB_CA_DISPATCH& calls = ca->shared.Ca.Dispatch;
    if (wanted.dispatch != nullptr) calls = *static_cast<const IB_CA_DISPATCH*>(wanted.dispatch);
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

void set_client_memory(IB_CA* ca, const address_space* memory) {
    ca_object::of(reinterpret_cast<HCA_CA*>(ca)).memory = memory;
}

const address_space* client_memory(const HCA_CA* ca) {
    return ca_object::of(const_cast<HCA_CA*>(ca)).memory;
}

} // namespace irpverbs::ci
