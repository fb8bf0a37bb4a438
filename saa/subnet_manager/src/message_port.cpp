#include "message_port.hpp"

#include <ibmf/ibmf_extras.h>

#include <algorithm>

namespace irpverbs::subnet_manager {

namespace {

std::vector<std::uint8_t> bytes_of(const void* begin, std::size_t size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(begin);
    return bytes != nullptr ? std::vector(bytes, bytes + size) : std::vector<std::uint8_t>();
}

} // namespace

message_parts parts_of(const ibmf_msg_t& message) {
    const ibmf_msg_bufs_t& from = message.im_msgbufs_recv;
    message_parts parts;
    parts.peer = {message.im_local_addr, message.im_global_addr,
                  (message.im_msg_flags & IBMF_MSG_FLAGS_GLOBAL_ADDRESS) != 0};
    parts.header = ibmf::load_mad_header(std::span<const std::uint8_t, ibmf::mad_header::size>(
        reinterpret_cast<const std::uint8_t*>(from.im_bufs_mad_hdr), ibmf::mad_header::size));
    parts.class_header = bytes_of(from.im_bufs_cl_hdr, from.im_bufs_cl_hdr_len);
    parts.data = bytes_of(from.im_bufs_cl_data, from.im_bufs_cl_data_len);
    return parts;
}

int message_port::open(ibmf_handle_t client, heard_call heard) {
    client_ = client;
    heard_ = std::move(heard);
    return ibmf_setup_async_cb(client, IBMF_QP_HANDLE_DEFAULT, came, this, 0);
}

// IBMF's message is given back at once: should the HCA go, IBMF frees it. Without memory it is as
// good as lost on the way.
void message_port::came(ibmf_handle_t client, ibmf_msg_t* message, void* context) {
    auto& self = *static_cast<message_port*>(context);
    try {
        self.queue_.post_call([&self, parts = parts_of(*message)]() mutable {
            if (!self.closed_) self.heard_(std::move(parts));
        });
    } catch (const std::bad_alloc&) {
    }
    ibmf_free_msg(client, &message);
}

void message_port::send(message_parts what, uint_t flags, ibmf_retrans_t times, told_call told) {
    outgoing& fresh = *sending_.emplace_back(std::make_unique<outgoing>());
    fresh.run = finish;
    fresh.at = this;
    fresh.parts = std::move(what);
    fresh.told = std::move(told);
    const int refused = closed_ ? IBMF_FAILURE : start(fresh, flags, times);
    if (refused == IBMF_SUCCESS) return; // sent() has it, perhaps already
    fresh.refused = refused;
    queue_.post(fresh);
}

int message_port::start(outgoing& what, uint_t flags, ibmf_retrans_t& times) {
    const int status = ibmf_alloc_msg(client_, IBMF_ALLOC_NOSLEEP, &what.message);
    if (status != IBMF_SUCCESS) return status;
    ibmf::store(what.header, what.parts.header);
    ibmf_msg_bufs_t& parts = what.message->im_msgbufs_send;
    parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(what.header.data());
    parts.im_bufs_cl_hdr = what.parts.class_header.data();
    parts.im_bufs_cl_hdr_len = what.parts.class_header.size();
    parts.im_bufs_cl_data = what.parts.data.data();
    parts.im_bufs_cl_data_len = what.parts.data.size();
    what.message->im_local_addr = what.parts.peer.local;
    what.message->im_global_addr = what.parts.peer.global;
    if (what.parts.peer.has_global) what.message->im_msg_flags |= IBMF_MSG_FLAGS_GLOBAL_ADDRESS;
    return ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, what.message, &times, sent, &what,
                              flags);
}

void message_port::sent(ibmf_handle_t, ibmf_msg_t*, void* context) {
    outgoing& done = *static_cast<outgoing*>(context);
    done.at->queue_.post(done);
}

void message_port::finish(serial_queue::task& task) {
    outgoing& done = static_cast<outgoing&>(task);
    message_port& self = *done.at;
    const int status = done.refused != IBMF_SUCCESS ? done.refused : done.message->im_msg_status;
    if (done.message != nullptr) ibmf_free_msg(self.client_, &done.message);
    const auto place = std::ranges::find(self.sending_, &done, &std::unique_ptr<outgoing>::get);
    const std::unique_ptr<outgoing> last = std::exchange(*place, std::move(self.sending_.back()));
    self.sending_.pop_back();
    if (last->told) last->told(status);
    self.tell_when_idle();
}

void message_port::tell_when_idle() {
    if (!idle_ || !sending_.empty()) return;
    const std::function<void()> idle = std::exchange(idle_, nullptr);
    idle();
}

void message_port::close(std::function<void()> idle) {
    closed_ = true;
    idle_ = std::move(idle);
    ibmf_tear_down_async_cb(client_, IBMF_QP_HANDLE_DEFAULT, 0);
    for (const auto& each : sending_)
        if (each->message != nullptr) ibmf_cancel_msg(client_, each->message);
    tell_when_idle();
}

} // namespace irpverbs::subnet_manager
