#include <engine/message.hpp>

#include <engine/bytes.hpp>

#include <dispatch/detail/faults.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

namespace irpverbs::ibmf {

void message::take(rmpp::message_buffer& from, std::uint64_t transaction_id) {
    received_size = from.bytes().size();
    const std::size_t class_header = from.class_header().size();
    const std::size_t data = from.data().size();
    received = from.take();
    std::uint8_t* const block = received.get();
    ibmf_msg_bufs_t& parts = shown.im_msgbufs_recv;
    parts = {};
    if (block == nullptr) return;
    set_id(block, transaction_id);
    parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(block);
    parts.im_bufs_cl_hdr = class_header != 0 ? block + mad_header_size : nullptr;
    parts.im_bufs_cl_hdr_len = class_header;
    parts.im_bufs_cl_data = block + mad_header_size + class_header;
    parts.im_bufs_cl_data_len = data;
}

void message::take_raw(rmpp::message_buffer::block bytes, std::size_t size) {
    received_size = size;
    received = std::move(bytes);
    shown.im_msgbufs_recv = {};
    shown.im_msgbufs_recv.im_bufs_cl_data = received.get();
    shown.im_msgbufs_recv.im_bufs_cl_data_len = size;
}

void message::drop_received() {
    received.reset();
    received_size = 0;
    shown.im_msgbufs_recv = {};
}

bool message::sends_from_received() const {
    const std::uint8_t* const begin = received.get();
    const auto inside = [&](const void* part) {
        const auto* const at = static_cast<const std::uint8_t*>(part);
        return at != nullptr && std::greater_equal<>()(at, begin) &&
               std::less<>()(at, begin + received_size);
    };
    const ibmf_msg_bufs_t& sent = shown.im_msgbufs_send;
    return begin != nullptr && (inside(sent.im_bufs_mad_hdr) || inside(sent.im_bufs_cl_hdr) ||
                                inside(sent.im_bufs_cl_data));
}

struct message_pool::chunk {
    chunk* next = nullptr;
    std::array<message, 32> messages;
};

message_pool::~message_pool() {
    while (chunks_ != nullptr)
        delete std::exchange(chunks_, chunks_->next);
}

bool message_pool::grow() {
    auto* fresh = new (std::nothrow) chunk;
    if (fresh == nullptr) return false;
    fresh->next = std::exchange(chunks_, fresh);
    for (message& each : fresh->messages)
        each.of_client.Flink = reinterpret_cast<LIST_ENTRY*>(std::exchange(free_, &each));
    return true;
}

message* message_pool::make(client& its_client) {
    if (dispatch::detail::fault_point("ibmf.message")) return nullptr;
    message* fresh = nullptr;
    {
        const std::lock_guard guard(lock_);
        if (free_ == nullptr && !grow()) return nullptr;
        fresh = free_;
        free_ = reinterpret_cast<message*>(fresh->of_client.Flink);
    }
    fresh->shown = {};
    fresh->busy = false;
    fresh->call = nullptr;
    fresh->data_call = nullptr;
    fresh->data_due = false;
    fresh->in_line.whole = fresh->data_in_line.whole = fresh;
    fresh->in_line.of_data = false;
    fresh->data_in_line.of_data = true;
    fresh->transfer_end = {};
    fresh->segments_resent = 0;
    fresh->who.store(&its_client, std::memory_order_release);
    return fresh;
}

void message_pool::free(message& gone) {
    gone.drop_received();
    gone.who.store(nullptr, std::memory_order_release);
    const std::lock_guard guard(lock_);
    gone.of_client.Flink = reinterpret_cast<LIST_ENTRY*>(std::exchange(free_, &gone));
}

} // namespace irpverbs::ibmf
