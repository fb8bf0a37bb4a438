// A long response in transfer. The stream delivers each record as soon as it is complete.
#pragma once

#include <access/answer.hpp>

#include <ibmf/ibmf.h>

#include <atomic>
#include <vector>

namespace irpverbs::saa {

struct query;

/// The caller serializes its calls.
class answer_stream {
public:
    explicit answer_stream(std::shared_ptr<detail::record_sink> to) : to_(std::move(to)) {}

    /// Reads the received bytes as far as the sink has room. IRQL: <= DISPATCH_LEVEL.
    void read(query& by, ibmf_handle_t handle);

    /// Returns the status of the completed transaction, and the records that were not delivered.
    /// The records received before a broken transfer's end are delivered, too.
    answer end(const question& asked, const ibmf_msg_t& message);

    /// Whether bytes have arrived.
    bool begun() const { return begun_; }

private:
    void take(const question& asked, std::span<const std::uint8_t> bytes);
    void hand_on(const question& asked);

    const std::shared_ptr<detail::record_sink> to_;
    std::vector<std::uint8_t> bytes_; // not delivered
    std::size_t headers_missing_ = answer_headers;
    answer_form form_;
    int failure_ = IBMF_SUCCESS;
    bool any_ = false; // records were delivered
    std::atomic<bool> begun_{false};
};

} // namespace irpverbs::saa
