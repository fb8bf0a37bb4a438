// A long answer while it comes: its records are handed on as soon as they are whole.
#pragma once

#include <access/answer.hpp>

#include <ibmf/ibmf.h>

#include <atomic>
#include <vector>

namespace irpverbs::saa {

struct query;

/// For one caller at a time.
class answer_stream {
public:
    explicit answer_stream(std::shared_ptr<detail::record_sink> to) : to_(std::move(to)) {}

    /// Takes what has come, as far as there is room. IRQL: <= DISPATCH_LEVEL.
    void read(query& by, ibmf_handle_t handle);

    /// The transaction has ended: its status, and the records that have not been handed on. Of a
    /// transfer that broke these are handed on, too, as far as they came.
    answer end(const question& asked, const ibmf_msg_t& message);

    /// Something has come.
    bool begun() const { return begun_; }

private:
    void take(const question& asked, std::span<const std::uint8_t> bytes);
    void hand_on(const question& asked);

    const std::shared_ptr<detail::record_sink> to_;
    std::vector<std::uint8_t> bytes_; // not handed on
    std::size_t headers_missing_ = answer_headers;
    answer_form form_;
    int failure_ = IBMF_SUCCESS;
    bool any_ = false; // records were handed on
    std::atomic<bool> begun_{false};
};

} // namespace irpverbs::saa
