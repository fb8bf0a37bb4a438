// A message as IBMF keeps it. The memory stays a message's for as long as the machine lives, so
// that a pointer to a freed one is found out.
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

/// How the client hears of the end of a transport, or whose call a callback is.
enum class told_by : std::uint8_t { irp, callback, return_value, unasked };

/// A callback in its client's line: of a message's end, or of data that have come.
struct line_place {
    LIST_ENTRY entry;
    message* whole;
    bool of_data;

    static line_place& of(LIST_ENTRY* entry) {
        return *CONTAINING_RECORD(entry, line_place, entry);
    }
};

struct message {
    ibmf_msg_t shown;                  // what the client sees of it
    std::atomic<client*> who{nullptr}; // null: free
    // Guarded by the lock of its client's port:
    bool busy = false; // being sent, or its callback is due
    LIST_ENTRY of_client;
    owned<rmpp::message_buffer::block> received;
    std::size_t received_size = 0;
    transaction* carried_by = nullptr;
    rmpp::outcome transfer_end;
    std::uint32_t segments_resent = 0;
    // A callback that is due:
    ibmf_msg_cb_t call = nullptr;
    void* argument = nullptr;
    told_by how = told_by::irp;
    listener* heard_by = nullptr; // unasked: who was meant, like the next
    std::uint32_t set_up = 0;     // which of its callbacks
    line_place in_line;
    // Of a response that is told of while it comes:
    ibmf_msg_cb_t data_call = nullptr;
    void* data_argument = nullptr;
    bool data_due = false;
    line_place data_in_line;
    deferred start;
    WORK_QUEUE_ITEM work;

    /// The received bytes: one block, shown in parts, with the id that the client knows.
    void take(rmpp::message_buffer& from, std::uint64_t transaction_id);
    /// The same of bytes that are no MAD.
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

    /// Zeroed, and the client's; null: no memory.
    message* make(client& its_client);
    void free(message& gone);
    /// The message that has this public part; null: none, and nothing of it is read. Without a
    /// lock.
    message* find(const ibmf_msg_t* shown) const;

private:
    struct chunk;
    struct directory;
    bool grow();
    bool note(chunk& fresh);

    dispatch::detail::raw_spin lock_;
    message* free_ = nullptr; // linked by of_client.Flink
    chunk* chunks_ = nullptr;
    std::atomic<directory*> directory_{nullptr}; // of the chunks, by their address
};

} // namespace irpverbs::ibmf

#endif
