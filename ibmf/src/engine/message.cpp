#include <engine/message.hpp>

#include <engine/message_codec.hpp>

#include <dispatch/support/faults.hpp>
#include <dispatch/support/sanitizers.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace irpverbs::ibmf {

namespace {

// The response of one datagram fits. AddressSanitizer is to find uses of received bytes after the
// next send, so no block is kept there.
constexpr std::size_t room_of_a_datagram = 512;
constexpr std::size_t most_kept_room = IRPVERBS_ADDRESS_SANITIZER ? 0 : room_of_a_datagram;

} // namespace

void message::set_received(rmpp::message_buffer& from, std::uint64_t transaction_id) {
    received_size = from.bytes().size();
    received_room = from.capacity();
    const std::size_t class_header = from.class_header().size();
    const std::size_t data = from.data().size();
    received = from.detach();
    std::uint8_t* const block = received.get();
    ibmf_msg_bufs_t& parts = public_part.im_msgbufs_recv;
    parts = {};
    if (block == nullptr) return;
    set_transaction_id(block, transaction_id);
    parts.im_bufs_mad_hdr = reinterpret_cast<ib_mad_hdr_t*>(block);
    parts.im_bufs_cl_hdr = class_header != 0 ? block + mad_header_size : nullptr;
    parts.im_bufs_cl_hdr_len = class_header;
    parts.im_bufs_cl_data = block + mad_header_size + class_header;
    parts.im_bufs_cl_data_len = data;
}

void message::set_received_raw(rmpp::message_buffer::block bytes, std::size_t size) {
    received_size = size;
    received_room = 0;
    received = std::move(bytes);
    public_part.im_msgbufs_recv = {};
    public_part.im_msgbufs_recv.im_bufs_cl_data = received.get();
    public_part.im_msgbufs_recv.im_bufs_cl_data_len = size;
}

void message::clear_received() {
    if (received_room > most_kept_room) received_room = 0;
    if (received_room == 0) received.reset();
    received_size = 0;
    public_part.im_msgbufs_recv = {};
}

void message::free_received() {
    received_room = 0;
    clear_received();
}

void message::lend_block(rmpp::message_buffer& to) {
    if (received_room == 0) return;
    to.reuse(rmpp::message_buffer::block(received.release()), received_room);
    received_room = 0;
}

bool message::sends_from_received() const {
    const std::uint8_t* const begin = received.get();
    const auto inside = [&](const void* part) {
        const auto* const at = static_cast<const std::uint8_t*>(part);
        return at != nullptr && std::greater_equal<>()(at, begin) &&
               std::less<>()(at, begin + received_size);
    };
    const ibmf_msg_bufs_t& sent = public_part.im_msgbufs_send;
    return begin != nullptr && (inside(sent.im_bufs_mad_hdr) || inside(sent.im_bufs_cl_hdr) ||
                                inside(sent.im_bufs_cl_data));
}

namespace {

constexpr std::size_t chunk_size = 16 << 10;

} // namespace

/// A chunk is aligned to its size, so an address inside it leads to its start.
struct alignas(chunk_size) message_pool::chunk {
    static constexpr std::size_t capacity = (chunk_size - sizeof(void*)) / sizeof(message);

    chunk* next = nullptr;
    std::array<message, capacity> messages;

    static std::uintptr_t base_of(const void* address) {
        return reinterpret_cast<std::uintptr_t>(address) & ~(std::uintptr_t{chunk_size} - 1);
    }
};

/// A set of addresses, at most half full. Readers acquire no lock, so a directory that was replaced
/// lives until the end.
struct message_pool::directory {
    static directory* make(std::size_t size, directory* previous) {
        std::unique_ptr<directory> made(new (std::nothrow) directory);
        if (made == nullptr) return nullptr;
        made->chunks.reset(new (std::nothrow) std::atomic<std::uintptr_t>[size]());
        if (made->chunks == nullptr) return nullptr;
        made->mask = size - 1;
        made->previous = previous;
        return made.release();
    }
    /// Returns the slot of an address, or the empty slot where it belongs.
    std::atomic<std::uintptr_t>& slot_of(std::uintptr_t chunk) const {
        std::size_t at = chunk / chunk_size;
        while (true) {
            std::atomic<std::uintptr_t>& slot = chunks[at++ & mask];
            const std::uintptr_t there = slot.load(std::memory_order_acquire);
            if (there == chunk || there == 0) return slot;
        }
    }
    void insert(std::uintptr_t chunk) {
        slot_of(chunk).store(chunk, std::memory_order_release);
        ++used;
    }

    std::unique_ptr<std::atomic<std::uintptr_t>[]> chunks;
    std::size_t mask = 0;
    std::size_t used = 0;
    directory* previous = nullptr;
};

message_pool::~message_pool() {
    while (chunks_ != nullptr)
        delete std::exchange(chunks_, chunks_->next);
    directory* last = directory_.load();
    while (last != nullptr)
        delete std::exchange(last, last->previous);
}

message* message_pool::find(const ibmf_msg_t* public_part) const {
    const directory* const known = directory_.load(std::memory_order_acquire);
    if (known == nullptr) return nullptr;
    const std::uintptr_t base = chunk::base_of(public_part);
    if (known->slot_of(base).load(std::memory_order_relaxed) != base || base == 0) return nullptr;
    auto& in = *reinterpret_cast<chunk*>(base);
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(public_part) -
                                  reinterpret_cast<std::uintptr_t>(&in.messages[0].public_part);
    const std::size_t index = offset / sizeof(message);
    return index < chunk::capacity && offset % sizeof(message) == 0 ? &in.messages[index] : nullptr;
}

// Called under the lock. Returns false if there is no memory.
bool message_pool::index_chunk(chunk& fresh) {
    constexpr std::size_t min_size = 16;
    directory* known = directory_.load(std::memory_order_relaxed);
    if (known == nullptr || 2 * (known->used + 1) > known->mask + 1) {
        directory* const larger =
            directory::make(known != nullptr ? 2 * (known->mask + 1) : min_size, known);
        if (larger == nullptr) return false;
        for (chunk* each = chunks_; each != nullptr; each = each->next)
            larger->insert(chunk::base_of(each));
        directory_.store(larger, std::memory_order_release);
        known = larger;
    }
    known->insert(chunk::base_of(&fresh));
    return true;
}

bool message_pool::grow() {
    std::unique_ptr<chunk> fresh(new (std::nothrow) chunk);
    if (fresh == nullptr || !index_chunk(*fresh)) return false;
    for (message& each : fresh->messages)
        each.client_entry.Flink = reinterpret_cast<LIST_ENTRY*>(std::exchange(free_, &each));
    fresh->next = std::exchange(chunks_, fresh.get());
    fresh.release();
    return true;
}

message* message_pool::allocate(client& its_client) {
    if (dispatch::detail::fault_point("ibmf.message")) return nullptr;
    message* fresh = nullptr;
    {
        const std::lock_guard guard(lock_);
        if (free_ == nullptr && !grow()) return nullptr;
        fresh = free_;
        free_ = reinterpret_cast<message*>(fresh->client_entry.Flink);
    }
    fresh->public_part = {};
    fresh->busy = false;
    fresh->call = nullptr;
    fresh->data_call = nullptr;
    fresh->data_due = false;
    fresh->completion_entry.container = fresh->data_entry.container = fresh;
    fresh->completion_entry.is_data = false;
    fresh->data_entry.is_data = true;
    fresh->transfer_end = {};
    fresh->segments_resent = 0;
    fresh->who.store(&its_client, std::memory_order_release);
    return fresh;
}

void message_pool::free(message& gone) {
    gone.free_received();
    gone.who.store(nullptr, std::memory_order_release);
    const std::lock_guard guard(lock_);
    gone.client_entry.Flink = reinterpret_cast<LIST_ENTRY*>(std::exchange(free_, &gone));
}

} // namespace irpverbs::ibmf
