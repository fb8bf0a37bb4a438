#include "message_port.hpp"

#include <ci/mad.h>
#include <dispatch/support/faults.hpp>
#include <ibmf/ibmf_extras.h>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <mutex>

namespace irpverbs::subnet_manager {

namespace {

std::vector<std::uint8_t> bytes_of(const void* begin, std::size_t size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(begin);
    return bytes != nullptr ? std::vector(bytes, bytes + size) : std::vector<std::uint8_t>();
}

} // namespace

std::uint8_t response_to(std::uint8_t method) {
    return method == MAD_METHOD_SET ? std::uint8_t{MAD_METHOD_GET_RESPONSE}
                                    : static_cast<std::uint8_t>(method | MAD_RESPONSE_BIT);
}

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

int message_port::open(ibmf_handle_t client, receive_handler handler) {
    client_ = client;
    receive_ = std::move(handler);
    return ibmf_setup_async_cb(client, IBMF_QP_HANDLE_DEFAULT, on_message, this, 0);
}

// Frees IBMF's message at once, since IBMF frees it when the HCA is removed. A message that is not
// copied for lack of memory counts as lost in the fabric.
void message_port::on_message(ibmf_handle_t client, ibmf_msg_t* message, void* context) {
    auto& self = *static_cast<message_port*>(context);
    if (!self.enqueue(*message) && self.reply_busy(*message)) return;
    ibmf_free_msg(client, &message);
}

message_port::~message_port() {
    while (next() != nullptr) {
    }
}

bool message_port::has_room(ib_lid_t peer) const {
    const std::lock_guard guard(lock_);
    return waiting_.has_room(peer);
}

bool message_port::serving() const {
    const std::lock_guard guard(lock_);
    return serving_;
}

// Returns false when there is no room; a flood then costs no copy.
bool message_port::enqueue(const ibmf_msg_t& message) {
    if (message.im_msgbufs_recv.im_bufs_cl_data_len > max_bytes) return false;
    const ib_lid_t peer = message.im_local_addr.ia_remote_lid;
    if (!has_room(peer)) return false;
    try {
        auto fresh = std::make_unique<incoming>();
        fresh->peer = peer;
        fresh->parts = parts_of(message);
        return insert(std::move(fresh));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool message_port::insert(std::unique_ptr<incoming> fresh) {
    {
        const std::lock_guard guard(lock_);
        if (!waiting_.push(*fresh)) return false;
        static_cast<void>(fresh.release());
        if (std::exchange(serving_, true)) return true;
    }
    queue_.post(serve_);
    return true;
}

std::unique_ptr<message_port::incoming> message_port::next() {
    const std::lock_guard guard(lock_);
    return std::unique_ptr<incoming>(static_cast<incoming*>(waiting_.pop()));
}

// Serves one message; other tasks of the queue run before the next one.
void message_port::serve_next(serial_queue::task& serve) {
    message_port& self = *static_cast<serve_task&>(serve).at;
    const std::unique_ptr<incoming> due = self.next();
    bool more = false;
    {
        const std::lock_guard guard(self.lock_);
        more = self.serving_ = !self.waiting_.empty();
    }
    if (more) self.queue_.post(serve);
    if (!self.closed_) return self.receive_(std::move(due->parts)); // may throw
    if (self.idle()) self.ended_();
}

// Sends the message back with another method and status. Returns false when it cannot be sent.
bool message_port::reply_busy(ibmf_msg_t& message) {
    constexpr std::uint32_t max_busy = 64;
    if (on_overflow_ == overflow::drop) return false;
    if (++busy_in_transport_ > max_busy) {
        --busy_in_transport_;
        return false;
    }
    message.im_msgbufs_send = message.im_msgbufs_recv;
    ib_mad_hdr_t& header = *message.im_msgbufs_send.im_bufs_mad_hdr;
    header.R_Method = response_to(header.R_Method);
    header.Status = boost::endian::native_to_big(std::uint16_t{MAD_STATUS_BUSY});
    message.im_msgbufs_send.im_bufs_cl_data_len = std::min(
        message.im_msgbufs_send.im_bufs_cl_data_len, ibmf::layout_of(header.MgmtClass).data_size());
    if (ibmf_msg_transport(client_, IBMF_QP_HANDLE_DEFAULT, &message, nullptr, busy_sent, this,
                           0) == IBMF_SUCCESS)
        return true;
    --busy_in_transport_;
    return false;
}

void message_port::busy_sent(ibmf_handle_t client, ibmf_msg_t* message, void* context) {
    auto& self = *static_cast<message_port*>(context);
    ibmf_free_msg(client, &message);
    --self.busy_in_transport_; // `idle` may hold now: the manager checks it with its next tick
}

std::uint64_t message_port::send(message_parts what, uint_t flags, ibmf_retrans_t times,
                                 completion_handler done) {
    if (dispatch::detail::fault_point("subnet_manager.message")) throw std::bad_alloc();
    outgoing& fresh = *sending_.emplace_back(std::make_unique<outgoing>());
    fresh.run = finish;
    fresh.at = this;
    fresh.parts = std::move(what);
    fresh.done = std::move(done);
    const std::uint64_t number = fresh.number = ++sent_;
    const int error = closed_ ? IBMF_FAILURE : start(fresh, flags, times);
    if (error == IBMF_SUCCESS) return number; // sent() handles it, and may have done so already
    fresh.error = error;
    queue_.post(fresh);
    return number;
}

void message_port::cancel(std::uint64_t number) {
    for (const auto& each : sending_)
        if (each->number == number && each->message != nullptr)
            ibmf_cancel_msg(client_, each->message);
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
    const int status = done.error != IBMF_SUCCESS ? done.error : done.message->im_msg_status;
    if (done.message != nullptr) ibmf_free_msg(self.client_, &done.message);
    const auto place = std::ranges::find(self.sending_, &done, &std::unique_ptr<outgoing>::get);
    const std::unique_ptr<outgoing> last = std::exchange(*place, std::move(self.sending_.back()));
    self.sending_.pop_back();
    if (last->done) last->done(status);
    if (self.closed_ && self.idle()) self.ended_();
}

void message_port::close() {
    closed_ = true;
    ibmf_tear_down_async_cb(client_, IBMF_QP_HANDLE_DEFAULT, 0);
    for (const auto& each : sending_)
        if (each->message != nullptr) ibmf_cancel_msg(client_, each->message);
}

} // namespace irpverbs::subnet_manager
