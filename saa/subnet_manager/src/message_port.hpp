// Messages that come unasked, and those that are sent as answers, Reports and the like.
#pragma once

#include "answer_times.hpp"
#include "serial_queue.hpp"

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace irpverbs::subnet_manager {

/// The other end.
struct message_address {
    ibmf_addr_info_t local{};
    ibmf_global_addr_info_t global{};
    bool has_global = false;
};

/// A message's parts, in wire format but for the header.
struct message_parts {
    message_address peer;
    ibmf::mad_header header;
    std::vector<std::uint8_t> class_header;
    std::vector<std::uint8_t> data;
};

/// A copy of what came in a message of IBMF's.
message_parts parts_of(const ibmf_msg_t& message);

/// Hears a client's unasked messages, and sends others. All but `hear` is for tasks of the queue.
class message_port {
public:
    using heard_call = std::function<void(message_parts)>;
    using told_call = std::function<void(int status)>;

    explicit message_port(serial_queue& queue) : queue_(queue) {}
    message_port(const message_port&) = delete;
    message_port& operator=(const message_port&) = delete;

    /// `heard` is called as a task. IBMF's statuses.
    int open(ibmf_handle_t client, heard_call heard);

    /// Sends; `told` is called as a task when it is over. With IBMF_MSG_TRANS_FLAG_SEQ it waits for
    /// the answer, whose contents are not looked at.
    void send(message_parts what, uint_t flags, ibmf_retrans_t times = answer_times,
              told_call told = {});

    /// Nothing is heard any more, what is being sent comes to its end, and then `idle()` is called.
    /// IRQL: PASSIVE_LEVEL.
    void close(std::function<void()> idle);

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
    static void sent(ibmf_handle_t, ibmf_msg_t*, void* context);
    static void finish(serial_queue::task& done);
    void tell_when_idle();
    int start(outgoing& what, uint_t flags, ibmf_retrans_t& times);

    serial_queue& queue_;
    ibmf_handle_t client_ = nullptr;
    heard_call heard_;
    std::vector<std::unique_ptr<outgoing>> sending_;
    bool closed_ = false;
    std::function<void()> idle_; // once it is closed
};

} // namespace irpverbs::subnet_manager
