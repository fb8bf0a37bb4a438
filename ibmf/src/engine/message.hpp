// The engine's part of a message. Its memory is used for messages only while the machine lives, so
// that a pointer to a freed message is detected.
#ifndef IRPVERBS_IBMF_ENGINE_MESSAGE_HPP
#define IRPVERBS_IBMF_ENGINE_MESSAGE_HPP

#include <engine/owned.hpp>
#include <engine/transaction_table.hpp>
#include <ibmf/ibmf.h>
#include <rmpp/sink.hpp>

#include <dispatch/detail/spin.hpp>

#include <atomic>

namespace irpverbs::ibmf {

struct client;
struct listener;
struct message;

/// The way in which the end of a transport is reported, or the kind of a callback.
enum class told_by : std::uint8_t { irp, callback, return_value, unasked };

/// An entry in the callback queue of a client: the end of a message, or received data.
struct line_place {
    LIST_ENTRY entry;
    message* whole;
    bool of_data;

    static line_place& of(LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(entry, line_place, entry);
    }
};

struct message {
    ibmf_msg_t shown;                  // the public part
    std::atomic<client*> who{nullptr}; // null: free
    // Guarded by the lock of the client's port:
    bool busy = false; // being sent, or its callback is queued
    LIST_ENTRY of_client;
    owned<rmpp::message_buffer::block> received;
    std::size_t received_size = 0;
    transaction* carried_by = nullptr;
    rmpp::outcome transfer_end;
    std::uint32_t segments_resent = 0;
    // A queued callback:
    ibmf_msg_cb_t call = nullptr;
    void* argument = nullptr;
    told_by how = told_by::irp;
    listener* heard_by = nullptr; // unsolicited: the receive handler
    std::uint32_t set_up = 0;     // unsolicited: number of the handler's callback
    line_place in_line;
    // A response with notification of its data (ibmf_stream_msg):
    ibmf_msg_cb_t data_call = nullptr;
    void* data_argument = nullptr;
    bool data_due = false;
    line_place data_in_line;
    deferred start;
    WORK_QUEUE_ITEM work;

    /// Takes the received bytes: one block, with its parts in the public part, and the id that the
    /// client knows.
    void take(rmpp::message_buffer& from, std::uint64_t transaction_id);
    /// Takes received bytes that are not a MAD.
    void take_raw(rmpp::message_buffer::block bytes, std::size_t size);
    void drop_received();
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
    message* make(client& its_client);
    void free(message& gone);
    /// Returns the message with this public part, or null; in that case `shown` is not read.
    /// Acquires no lock.
    message* find(const ibmf_msg_t* shown) const;

private:
    struct chunk;
    struct directory;
    bool grow();
    bool note(chunk& fresh);

    dispatch::detail::raw_spin lock_;
    message* free_ = nullptr; // linked by of_client.Flink
    chunk* chunks_ = nullptr;
    std::atomic<directory*> directory_{nullptr}; // the chunks, by their address
};

} // namespace irpverbs::ibmf

#endif
