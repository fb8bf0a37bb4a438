// SMPs by directed routes: a limited number in flight, each with IBMF's retries and deadline.
#pragma once

#include "serial_queue.hpp"

#include <ibmf/ibmf.h>
#include <ibmf/mad.hpp>
#include <model/topology.hpp>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace irpverbs::subnet_manager {

using smp_data = std::array<std::uint8_t, 64>;

enum sm_attribute : std::uint16_t {
    sm_notice = 0x02,
    sm_node_description = 0x10,
    sm_node_info = 0x11,
    sm_switch_info = 0x12,
    sm_guid_info = 0x14,
    sm_port_info = 0x15,
    sm_pkey_table = 0x16,
    sm_linear_table = 0x19,
    sm_multicast_table = 0x1B,
    sm_info = 0x20,
};

struct smp {
    directed_route route;
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;
    std::uint8_t method = MAD_METHOD_GET;
    smp_data data{};
};

/// Returns a Get of an attribute.
inline smp get_smp(directed_route route, std::uint16_t attribute, std::uint32_t modifier = 0) {
    return {std::move(route), attribute, modifier};
}

/// Returns a Set of an attribute, from its host structure.
template <class Host>
smp set_smp(directed_route route, std::uint16_t attribute, std::uint32_t modifier,
            const Host& host) {
    smp made{std::move(route), attribute, modifier, MAD_METHOD_SET};
    pack(host, made.data);
    return made;
}

struct smp_response {
    bool received = false;    // false: no response in time, or cancelled
    std::uint16_t status = 0; // of a response
    smp_data data{};

    bool success() const { return received && status == 0; }
};

/// All functions but `open`, `close` and the constructor run in tasks of the queue, as do the
/// handlers.
class smp_channel {
public:
    using response_handler = std::function<void(const smp_response&)>;

    /// `ended` is called after `cancel`, when the last handler has run.
    smp_channel(serial_queue& queue, std::size_t in_flight, std::function<void()> ended)
        : queue_(queue), in_flight_(in_flight), ended_(std::move(ended)) {}
    smp_channel(const smp_channel&) = delete;
    smp_channel& operator=(const smp_channel&) = delete;

    /// `client`: of class SUBN_MANAGER. Returns IBMF_SUCCESS or IBMF_NO_RESOURCES.
    int open(ibmf_handle_t client);

    /// Call it after `cancel`, when no further SMP is sent.
    void close();

    void send(smp what, response_handler handler);

    /// Whether the handlers of all SMPs have run.
    bool idle() const { return waiting_.empty() && free_.size() == transactions_.size(); }

    /// Until `resume`, ends all SMPs without a response.
    void cancel();
    void resume() { cancelled_ = false; }

    /// Whether the HCA was removed: no further response will arrive.
    bool device_removed() const { return device_removed_; }
    std::uint64_t sent() const { return sent_; } // so far
    std::uint64_t missing_responses() const { return missing_responses_; }

private:
    struct transaction : serial_queue::task {
        smp_channel* at = nullptr;
        ibmf_msg_t* message = nullptr;
        response_handler handler;
        smp_response response; // without a received MAD if the SMP was not sent
        alignas(ib_mad_hdr_t) std::array<std::uint8_t, ibmf::mad_header::size> header{};
        std::array<std::uint8_t, ibmf::smp_header::size> class_header{};
        std::array<std::uint8_t, 192> body{}; // data, reserved, initial path, return path
    };
    struct request {
        smp what;
        response_handler handler;
    };

    static void on_response(ibmf_handle_t, ibmf_msg_t*, void* context);
    static void finish(serial_queue::task& done);
    void start(transaction& free, request next);
    void write(transaction& into, const smp& what);
    void start_queued();

    serial_queue& queue_;
    std::size_t in_flight_;
    ibmf_handle_t client_ = nullptr;
    std::vector<std::unique_ptr<transaction>> transactions_;
    std::vector<transaction*> free_;
    std::deque<request> waiting_;
    const std::function<void()> ended_;
    bool cancelled_ = false;
    bool device_removed_ = false;
    std::uint64_t sent_ = 0;
    std::uint64_t missing_responses_ = 0;
};

} // namespace irpverbs::subnet_manager
