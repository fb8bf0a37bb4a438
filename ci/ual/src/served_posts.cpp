#include "served_posts.hpp"

#include <ci/support/wire.hpp>

#include <cstring>

namespace irpverbs::ual {

using ci::crossing::message;
using ci::crossing::post_consumer;
using ci::crossing::post_ring;
using ci::wire::open_descriptor;
namespace wire = ci::wire;

namespace {

// More than the ring holds.
constexpr unsigned all = post_ring::capacity / 8 + 1;

auto& place_of(ci::detail::descriptors& passed, open_descriptor which) {
    return passed[static_cast<std::size_t>(which)];
}

// The work request is one that its queue pair would not take at this time: the queue is destroyed,
// reset, or was reset in the meantime. It is dropped without a completion, as a reset does.
bool is_dropped(NTSTATUS status) {
    return status == STATUS_INVALID_HANDLE || status == STATUS_INVALID_DEVICE_STATE ||
           status == STATUS_FILE_FORCED_CLOSED;
}

} // namespace

void served_posts::make_ring(ring_quota& memory, ci::detail::descriptors& passed) {
    auto& of_client = place_of(passed, open_descriptor::posts_of_client);
    auto& of_daemon = place_of(passed, open_descriptor::posts_of_daemon);
    client_memory_ = ring_memory(memory, sizeof(post_ring::client_part),
                                 ring_memory::others::may_write, of_client);
    if (client_memory_)
        own_memory_ = ring_memory(memory, sizeof(post_ring::daemon_part),
                                  ring_memory::others::may_read, of_daemon);
    if (own_memory_)
        ring_.emplace(client_memory_.as<post_ring::client_part>(),
                      own_memory_.as<post_ring::daemon_part>());
    else
        of_client = {};
}

served_posts::result served_posts::post_first(std::size_t size) {
    wire::posted reply;
    if (!server_.serve(message(copy_).first(size), objects_, reply, done_))
        return result::violation;
    if (reply.status == STATUS_INSUFFICIENT_RESOURCES) {
        done_ = reply.count;
        return result::blocked;
    }
    if (!NT_SUCCESS(reply.status) && !is_dropped(reply.status)) return result::violation;
    done_ = 0;
    ring_->remove();
    return result::worked;
}

served_posts::result served_posts::post_some(unsigned most) {
    result made = result::idle;
    for (unsigned i = 0; ring_ && i < most; ++i) {
        std::size_t size = 0;
        const post_consumer::found seen = ring_->look(copy_, size);
        if (seen == post_consumer::found::nothing) break;
        made = seen == post_consumer::found::record ? post_first(size) : result::violation;
        if (made != result::worked) break;
    }
    blocked_ = made == result::blocked;
    return made;
}

bool served_posts::post_all() { return post_some(all) != result::violation; }

bool served_posts::serve(message received, wire::posted& reply) {
    if (!post_all()) return false;
    if (!blocked_) return server_.serve(received, objects_, reply);
    wire::header head{};
    std::memcpy(&head, received.data(), sizeof(head));
    reply = {{wire::kind::posted, head.verb, {}, head.id}, STATUS_INSUFFICIENT_RESOURCES, 0, 0};
    return true;
}

} // namespace irpverbs::ual
