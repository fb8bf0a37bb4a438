// Unsolicited messages to the manager, and the messages that it sends as responses, Reports and the
// like.
#pragma once

#include "answer_times.hpp"
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

/// Receives a client's unsolicited messages, and sends messages. The number of messages in the
/// queue is bounded, in total and for each peer. Runs in tasks of the queue.
class message_port {
public:
    using heard_call = std::function<void(message_parts)>;
    using told_call = std::function<void(int status)>;

    /// The handling of a message for which there is no room.
    enum class overflow : std::uint8_t {
        drop,       // the sender repeats it
        answer_busy // the response asks the peer to repeat it later
    };
    static constexpr std::uint32_t most_waiting = 1024;
    static constexpr std::uint32_t most_of_a_peer = 256;
    static constexpr std::size_t most_bytes = 65536; // of one message

    /// `ended` is called after `close`, when all operations have ended.
    message_port(serial_queue& queue, overflow surplus, std::function<void()> ended)
        : queue_(queue), surplus_(surplus), ended_(std::move(ended)) {}
    message_port(const message_port&) = delete;
    message_port& operator=(const message_port&) = delete;

    /// `heard` is called as a task. Returns IBMF's statuses.
    int open(ibmf_handle_t client, heard_call heard);

    /// Sends a message; `told` is called as a task at the end of the transport. With
    /// IBMF_MSG_TRANS_FLAG_SEQ the transport waits for the response, whose contents are ignored.
    void send(message_parts what, uint_t flags, ibmf_retrans_t times = answer_times,
              told_call told = {});

    /// Ends the reception, and cancels the messages in transport. IRQL: PASSIVE_LEVEL.
    void close();
    /// Whether no message is queued or in transport.
    bool idle() const { return sending_.empty() && waiting_ == 0 && refusing_ == 0; }

private:
    struct outgoing : serial_queue::task {
        message_port* at = nullptr;
        ibmf_msg_t* message = nullptr;
        message_parts parts;
        alignas(ib_mad_hdr_t) std::array<std::uint8_t, ibmf::mad_header::size> header{};
        told_call told;
        int refused = IBMF_SUCCESS;
    };

    static void came(ibmf_handle_t, ibmf_msg_t* message, void* context);
    bool enter(ib_lid_t peer);
    void leave(ib_lid_t peer);
    bool take(const ibmf_msg_t& message);
    void hear(message_parts what);
    bool refuse(ibmf_msg_t& message);
    static void refused(ibmf_handle_t, ibmf_msg_t* message, void* context);
    static void sent(ibmf_handle_t, ibmf_msg_t*, void* context);
    static void finish(serial_queue::task& done);
    int start(outgoing& what, uint_t flags, ibmf_retrans_t& times);

    serial_queue& queue_;
    ibmf_handle_t client_ = nullptr;
    heard_call heard_;
    std::vector<std::unique_ptr<outgoing>> sending_;
    bool closed_ = false;
    const overflow surplus_;
    const std::function<void()> ended_;
    std::atomic<std::uint32_t> waiting_{0};                  // messages in the queue
    std::atomic<std::uint32_t> refusing_{0};                 // BUSY responses in transport
    std::array<std::atomic<std::uint32_t>, 256> of_peers_{}; // of waiting_, by LID modulo its size
};

} // namespace irpverbs::subnet_manager
