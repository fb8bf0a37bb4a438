// Channel adapters and completion queues: one block of memory each, with the driver's part in it.
#include "device.hpp"
#include "request.hpp"

#include <dispatch/detail/checks.hpp>

#include <new>

namespace irpverbs::ci {

namespace {

constexpr ULONG tag = 0x6F696349; // "Icio"

constexpr std::size_t rounded(std::size_t size) { return (size + 15) / 16 * 16; }

// Places of an object, its channels and the driver's extension in one block.
template <class Object>
struct block {
    std::size_t channels = rounded(sizeof(Object));
    std::size_t extension;
    std::size_t size;

    block(unsigned channel_count, std::size_t extension_size)
        : extension(rounded(channels + channel_count * sizeof(event_channel))),
          size(extension + extension_size) {}
};

event_channel* make_channels(void* memory, unsigned count) {
    auto* channels = static_cast<event_channel*>(memory);
    for (unsigned i = 0; i < count; ++i)
        new (&channels[i]) event_channel{};
    return channels;
}

template <class Dispatch>
void copy_dispatch(Dispatch& to, const void* from) {
    if (from != nullptr) to = *static_cast<const Dispatch*>(from);
}

} // namespace

ca_object* ca_object::make(hca_device& device, const creation& wanted) {
    const unsigned count = device.description.PortCount + 1u;
    const block<ca_object> places(count, device.description.CaExtensionSize);
    auto* memory = static_cast<char*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, places.size, tag));
    if (memory == nullptr) return nullptr;
    auto* ca = new (memory) ca_object(make_channels(memory + places.channels, count), count);
    copy_dispatch(ca->shared.Ca.Dispatch, wanted.dispatch);
    ca->shared.Device = device.fdo;
    ca->shared.Context = wanted.context;
    ca->shared.Extension = memory + places.extension;
    ca->shared.Reserved = ca;
    dispatch::detail::introduce(ca, "ca");
    return ca;
}

void ca_object::destroy(ca_object* ca) {
    ca->~ca_object();
    ExFreePoolWithTag(ca, tag);
}

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
    const block<cq_object> places(channel_count, description.CqExtensionSize);
    auto* memory = static_cast<char*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, places.size, tag));
    if (memory == nullptr) return nullptr;
    auto* cq = new (memory) cq_object(make_channels(memory + places.channels, channel_count));
    copy_dispatch(cq->shared.Cq.Dispatch, wanted.dispatch);
    cq->shared.Cq.NumCqes = wanted.num_cqes;
    cq->shared.Ca = &ca;
    cq->shared.Context = wanted.context;
    cq->shared.Extension = memory + places.extension;
    cq->shared.Reserved = cq;
    dispatch::detail::introduce(cq, "cq");
    return cq;
}

void cq_object::destroy(cq_object* cq) {
    cq->~cq_object();
    ExFreePoolWithTag(cq, tag);
}

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
