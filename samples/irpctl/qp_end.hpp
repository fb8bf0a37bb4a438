// One of the two queue pairs of irpctl qp, with its memory.
#pragma once

#include "session.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace irpctl {

class qp_end {
public:
    /// Room in front of a received datagram.
    static constexpr std::size_t grh_bytes = 40;

    qp_end(const device& which, std::uint8_t port) : which_(which), port_(port) {}

    /// Creates everything on an open HCA. `size`: bytes of a message.
    asio::awaitable<void> open(const ci::channel_adapter& ca, ib_qp_type_t type, std::size_t size,
                               ULONG depth);
    /// Both ends are open.
    asio::awaitable<void> connect(const qp_end& peer);
    /// Ends the objects, whose memory stays valid until then.
    asio::awaitable<void> close();

    // ---- work requests, one message each; every send is signaled
    ib_send_wr_t request(ib_wr_type_t type, const qp_end& peer);
    /// Throw failure.
    void post(ib_send_wr_t what);
    void post_receive();
    /// Returns false when there is no completion. Throws failure for one that has failed.
    bool poll(IB_WC& completion);
    /// Waits until poll() would return a completion.
    asio::awaitable<void> wait();

    std::vector<std::byte>& bytes() { return bytes_; }
    const device& which() const { return which_; }
    const ci::queue_pair& queue_pair() const { return qp_; }

private:
    [[noreturn]] void fail(const char* action, std::string_view why) const;
    ib_local_ds_t segment(std::size_t size) const;

    const device& which_;
    const std::uint8_t port_;
    ib_qp_type_t type_ = IB_QPT_RELIABLE_CONN;
    std::size_t size_ = 0;
    IB_CA* ca_ = nullptr;
    std::vector<std::byte> bytes_; // GRH and message
    ci::protection_domain pd_;
    ci::completion_queue cq_;
    ci::memory_region mr_;
    ci::queue_pair qp_;
    ci::address_vector av_; // to the peer, of datagrams
    ib_local_ds_t sent_{};
};

} // namespace irpctl
