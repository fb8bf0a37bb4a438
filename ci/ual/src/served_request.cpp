#include "served_request.hpp"

#include <irp/mdl.h>

#include <new>

namespace irpverbs::ual {

namespace {

constexpr ULONG request_tag = 0x716C6155; // "Ualq"

static_assert(sizeof(served_request) % 16 == 0 && alignof(served_request) <= 16,
              "the buffers behind a request are aligned");

} // namespace

served_request::pointer served_request::make(served_connection& owner, int via,
                                             const ci::wire::header& head, std::size_t memory) {
    void* const place =
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(served_request) + memory, request_tag);
    return pointer(place != nullptr ? new (place) served_request(owner, via, head, memory)
                                    : nullptr);
}

void served_request::free::operator()(served_request* request) const {
    if (request->irp != nullptr && request->irp->MdlAddress != nullptr)
        IoFreeMdl(request->irp->MdlAddress);
    if (request->irp != nullptr) IoFreeIrp(request->irp);
    request->~served_request();
    ExFreePoolWithTag(request, request_tag);
}

void served_request::prepare_failure(NTSTATUS status) {
    reply.head.head = {ci::wire::kind::reply, head.verb, {}, 0, head.id};
    reply.head.status = status;
    reply.message.add(&reply.head, sizeof(reply.head));
}

} // namespace irpverbs::ual
