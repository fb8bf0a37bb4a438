#include "served_ring.hpp"

#include <ci/support/wire.hpp>

#include <cstring>

namespace irpverbs::ual {

using ci::crossing::message;
using ci::crossing::post_consumer;
namespace wire = ci::wire;

namespace {

// The work request is one that its queue pair would not take at this time: the queue is destroyed,
// reset, or was reset in the meantime. It is dropped without a completion, as a reset does.
bool is_dropped(NTSTATUS status) {
    return status == STATUS_INVALID_HANDLE || status == STATUS_INVALID_DEVICE_STATE ||
           status == STATUS_FILE_FORCED_CLOSED;
}

} // namespace

bool served_ring::is_kind_of_ring(std::size_t size) const {
    wire::header head{};
    if (size < sizeof(head)) return false;
    std::memcpy(&head, copy_.data(), sizeof(head));
    return wire::is_receive(static_cast<wire::work>(head.verb)) == receives_;
}

served_ring::result served_ring::post(std::size_t size) {
    wire::posted reply;
    if (!is_kind_of_ring(size) ||
        !server_.serve(message(copy_).first(size), objects_, reply, done_))
        return result::violation;
    if (reply.status == STATUS_INSUFFICIENT_RESOURCES) {
        done_ = reply.count;
        return result::blocked;
    }
    if (!NT_SUCCESS(reply.status) && !is_dropped(reply.status)) return result::violation;
    done_ = 0;
    ring_.remove();
    return result::worked;
}

served_ring::result served_ring::post_first() {
    std::size_t size = 0;
    switch (ring_.look(copy_, size)) {
    case post_consumer::found::nothing:
        return result::idle;
    case post_consumer::found::record:
        return post(size);
    case post_consumer::found::violation:
        break;
    }
    return result::violation;
}

} // namespace irpverbs::ual
