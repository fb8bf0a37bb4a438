// Unsolicited messages to the manager, and the messages that it sends as responses, Reports and the
// like.
#pragma once

#include "fair_queue.hpp"
#include "response_retrans.hpp"
#include "serial_queue.hpp"

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace irpverbs::subnet_manager {

/// The address of the peer.
struct message_address {
    ibmf_addr_info_t local{};
    ibmf_global_addr_info_t global{};
    bool has_global = false;
};

/// The parts of a message, in wire format except for the header.
struct message_parts {
    message_address peer;
    ibmf::mad_header header;
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
};

/// Returns the method of the response to a request.
std::uint8_t response_to(std::uint8_t method);

/// Returns a copy of an IBMF message.
message_parts parts_of(const ibmf_msg_t& message);

/// Receives a client's unsolicited messages, and sends messages. The number of waiting messages is
/// bounded, in total and for each peer, and peers are served in turn. Runs in tasks of the queue.
class message_port {
public:
    using receive_handler = std::function<void(message_parts)>;
    using completion_handler = std::function<void(int status)>;

    /// The handling of a message for which there is no room.
    enum class overflow : std::uint8_t {
        drop,        // the sender repeats it
        respond_busy // the response asks the peer to repeat it later
    };
    static constexpr std::uint32_t max_per_peer = fair_queue::max_per_peer;
    static constexpr std::size_t max_bytes = 65536; // of one message

    /// `ended` is called after `close`, when all operations have ended.
    message_port(serial_queue& queue, overflow on_overflow, std::function<void()> ended)
        : queue_(queue), on_overflow_(on_overflow), ended_(std::move(ended)) {
        serve_.run = serve_next;
        serve_.at = this;
    }
    ~message_port();
    message_port(const message_port&) = delete;
    message_port& operator=(const message_port&) = delete;

    /// `handler` is called as a task. Returns IBMF's statuses.
    int open(ibmf_handle_t client, receive_handler handler);

    /// Sends a message; `done` is called as a task at the end of the transport. With
    /// IBMF_MSG_TRANS_FLAG_SEQ the transport waits for the response, whose contents are ignored.
    /// Returns the number of the message, which is never 0.
    std::uint64_t send(message_parts what, uint_t flags, ibmf_retrans_t times = response_retrans,
                       completion_handler done = {});

    /// Requests the early end of a message's transport: it is not repeated again. `done` is called
    /// in any case. No effect on a message that has ended.
    void cancel(std::uint64_t number);

    /// Ends the reception, and cancels the messages in transport. IRQL: PASSIVE_LEVEL.
    void close();
    /// Whether no message is queued or in transport.
    bool idle() const { return sending_.empty() && !serving() && busy_in_transport_ == 0; }

private:
    struct outgoing : serial_queue::task {
        message_port* at = nullptr;
        std::uint64_t number = 0;
        ibmf_msg_t* message = nullptr;
        message_parts parts;
        alignas(ib_mad_hdr_t) std::array<std::uint8_t, ibmf::mad_header::size> header{};
        completion_handler done;
        int error = IBMF_SUCCESS;
    };

    struct incoming : queued_message {
        message_parts parts;
    };
    struct serve_task : serial_queue::task {
        message_port* at = nullptr;
    };

    static void on_message(ibmf_handle_t, ibmf_msg_t* message, void* context);
    bool has_room(ib_lid_t peer) const;
    bool serving() const;
    bool enqueue(const ibmf_msg_t& message);
    bool insert(std::unique_ptr<incoming> fresh);
    std::unique_ptr<incoming> next();
    static void serve_next(serial_queue::task& serve);
    bool reply_busy(ibmf_msg_t& message);
    static void busy_sent(ibmf_handle_t, ibmf_msg_t* message, void* context);
    static void sent(ibmf_handle_t, ibmf_msg_t*, void* context);
    static void finish(serial_queue::task& done);
    int start(outgoing& what, uint_t flags, ibmf_retrans_t& times);

    serial_queue& queue_;
    ibmf_handle_t client_ = nullptr;
    receive_handler receive_;
    std::vector<std::unique_ptr<outgoing>> sending_;
    std::uint64_t sent_ = 0; // messages so far
    bool closed_ = false;
    const overflow on_overflow_;
    const std::function<void()> ended_;
    std::atomic<std::uint32_t> busy_in_transport_{0}; // BUSY responses in transport
    serve_task serve_;
    mutable dispatch::detail::raw_spin_lock lock_;
    fair_queue waiting_;   // guarded by lock_
    bool serving_ = false; // guarded by lock_: serve_ is queued
};

} // namespace irpverbs::subnet_manager
