// The engine's part of a message. Its memory is used for messages only while the machine lives, so
// that a pointer to a freed message is detected.
#ifndef IRPVERBS_IBMF_ENGINE_MESSAGE_HPP
#define IRPVERBS_IBMF_ENGINE_MESSAGE_HPP

#include <engine/standard_layout_ptr.hpp>
#include <engine/transaction_table.hpp>
#include <ibmf/ibmf.h>
#include <rmpp/sink.hpp>

#include <dispatch/support/spin.hpp>

#include <atomic>

namespace irpverbs::ibmf {

struct client;
struct receive_handler;
struct message;

/// The way in which the end of a transport is reported, or the kind of a callback.
enum class completion_style : std::uint8_t { irp, callback, return_value, unsolicited };

/// An entry in the callback queue of a client: the end of a message, or received data.
struct callback_entry {
    LIST_ENTRY entry;
    message* container;
    bool is_data;

    static callback_entry& of(LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(entry, callback_entry, entry);
    }
};

struct message {
    ibmf_msg_t public_part;
    std::atomic<client*> who{nullptr}; // null: free
    // Guarded by the lock of the client's port:
    bool busy = false; // being sent, or its callback is queued
    LIST_ENTRY client_entry;
    // Between uses it keeps a small block, for the next response.
    standard_layout_ptr<rmpp::message_buffer::block> received;
    std::size_t received_room = 0; // capacity of the block; 0: it is not used again
    std::size_t received_size = 0; // 0: nothing was received
    transaction* current_transaction = nullptr;
    rmpp::outcome transfer_end;
    std::uint32_t segments_resent = 0;
    // A queued callback:
    ibmf_msg_cb_t call = nullptr;
    void* argument = nullptr;
    completion_style completion = completion_style::irp;
    receive_handler* handler = nullptr;   // of an unsolicited message
    std::uint32_t receive_generation = 0; // of the handler's callback, when the message arrived
    callback_entry completion_entry;
    // A response with notification of its data (ibmf_stream_msg):
    ibmf_msg_cb_t data_call = nullptr;
    void* data_argument = nullptr;
    bool data_due = false;
    callback_entry data_entry;
    deferred start;
    WORK_QUEUE_ITEM work;

    /// Takes the received bytes: one block, with its parts in the public part, and the id that the
    /// client knows.
    void set_received(rmpp::message_buffer& from, std::uint64_t transaction_id);
    /// Takes received bytes that are not a MAD.
    void set_received_raw(rmpp::message_buffer::block bytes, std::size_t size);
    void clear_received();
    /// Frees the memory of received bytes.
    void free_received();
    /// Moves the block of an earlier response, if there is one, to a buffer for the next.
    void lend_block(rmpp::message_buffer& to);
    bool sends_from_received() const;
};

/// The messages of a machine.
class message_pool {
public:
    message_pool() = default;
    message_pool(const message_pool&) = delete;
    message_pool& operator=(const message_pool&) = delete;
    ~message_pool();

    /// Allocates a message of the client, zeroed. Null: no memory.
    message* allocate(client& its_client);
    void free(message& gone);
    /// Returns the message with this public part. Null: there is none, and the pointer is not read.
    /// Acquires no lock.
    message* find(const ibmf_msg_t* public_part) const;

private:
    struct chunk;
    struct directory;
    bool grow();
    bool index_chunk(chunk& fresh);

    dispatch::detail::raw_spin_lock lock_;
    message* free_ = nullptr; // linked by client_entry.Flink
    chunk* chunks_ = nullptr;
    std::atomic<directory*> directory_{nullptr}; // the chunks, by their address
};

} // namespace irpverbs::ibmf

#endif
