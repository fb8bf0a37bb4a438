// A long response in transfer. The stream delivers each record as soon as it is complete.
#pragma once

#include <access/sa_response.hpp>

#include <ibmf/ibmf.h>

#include <atomic>
#include <vector>

namespace irpverbs::saa {

struct query;

/// The caller serializes its calls.
class response_stream {
public:
    explicit response_stream(std::shared_ptr<detail::record_sink> to) : to_(std::move(to)) {}

    /// Reads the received bytes as far as the sink has room. IRQL: <= DISPATCH_LEVEL.
    void read(query& by, ibmf_handle_t handle);

    /// Returns the status of the completed transaction, and the records that were not delivered.
    /// The records received before a broken transfer's end are delivered, too.
    sa_response end(const wire_query& request, const ibmf_msg_t& message);

    /// Whether bytes have arrived.
    bool begun() const { return begun_; }

private:
    void append(const wire_query& request, std::span<const std::uint8_t> bytes);
    void deliver(const wire_query& request);

    const std::shared_ptr<detail::record_sink> to_;
    std::vector<std::uint8_t> bytes_; // not delivered
    std::size_t headers_missing_ = response_headers_size;
    response_format form_;
    int failure_ = IBMF_SUCCESS;
    bool delivered_any_ = false; // records were delivered
    std::atomic<bool> begun_{false};
};

} // namespace irpverbs::saa
